/* SPDX-License-Identifier: GPL-2.0 */
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)
