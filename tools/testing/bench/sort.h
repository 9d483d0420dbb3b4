/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FARSWAP_BENCH_SORT_H
#define FARSWAP_BENCH_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Where Hoare's partition ends: nothing before that is larger than anything from there on. */
static size_t partition(uint32_t *array, size_t nr)
{
	/* Not the last: then one side could be empty. */
	uint32_t pivot = array[(nr - 1) / 2], other;
	size_t low = 0, high = nr - 1;

	for (;; low++, high--) {
		while (array[low] < pivot)
			low++;
		while (array[high] > pivot)
			high--;
		if (low >= high)
			return high + 1;
		other = array[low];
		array[low] = array[high];
		array[high] = other;
	}
}

static void sort(uint32_t *array, size_t nr)
{
	while (nr > 1) {
		size_t first = partition(array, nr);

		/* The larger one goes on here, so that the stack stays small. */
		if (first < nr - first) {
			sort(array, first);
			array += first;
			nr -= first;
		} else {
			sort(array + first, nr - first);
			nr = first;
		}
	}
}

#endif
