/* SPDX-License-Identifier: GPL-2.0 */
struct net {
	int unused;
};

static struct net init_net;
