/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The version that the build was given.
 */
#ifndef RELEASE_H
#define RELEASE_H

#ifndef FARSWAP_RELEASE
#define FARSWAP_RELEASE	"unreleased"
#endif

#endif
