// SPDX-License-Identifier: GPL-2.0
/* swapon_at - swapon with a priority, which busybox's cannot give. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/swap.h>

int main(int argc, char **argv)
{
	int flags;

	if (argc != 3) {
		fprintf(stderr, "usage: swapon_at PRIORITY DEVICE\n");
		return 2;
	}
	flags = SWAP_FLAG_PREFER | (atoi(argv[1]) & SWAP_FLAG_PRIO_MASK);
	if (swapon(argv[2], flags)) {
		perror(argv[2]);
		return 1;
	}
	return 0;
}
