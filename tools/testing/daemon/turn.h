/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs the event loop for a time. Used with loop.c.
 */
#ifndef TURN_H
#define TURN_H

#include "loop.h"

static void turn_end(void *arg)
{
	(void)arg;
	loop_stop();
}

static void turn_ms(unsigned int ms)
{
	struct loop_timer end;

	loop_timer_init(&end, turn_end, NULL);
	loop_timer_set(&end, ms);
	loop_run();
}

#endif
