/* SPDX-License-Identifier: GPL-2.0 */
#include <assert.h>
#include "../kernel.h"
