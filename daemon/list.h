/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Doubly linked lists, with the links embedded in the entries.
 */
#ifndef LIST_H
#define LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next;
	struct list *prev;
};

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#define list_first(head, type, member) \
	(list_empty(head) ? NULL : container_of((head)->next, type, member))

#define list_last(head, type, member) \
	(list_empty(head) ? NULL : container_of((head)->prev, type, member))

#define list_for_each(pos, head) \
	for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)

/* Only @pos may be removed from the list. */
#define list_for_each_safe(pos, tmp, head)				\
	for ((pos) = (head)->next, (tmp) = (pos)->next; (pos) != (head);	\
	     (pos) = (tmp), (tmp) = (pos)->next)

static inline void list_init(struct list *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

static inline void list_add(struct list *entry, struct list *head)
{
	entry->next = head->next;
	entry->prev = head;
	head->next->prev = entry;
	head->next = entry;
}

static inline void list_add_tail(struct list *entry, struct list *head)
{
	entry->prev = head->prev;
	entry->next = head;
	head->prev->next = entry;
	head->prev = entry;
}

/* May be called for an entry that is not in a list. */
static inline void list_del(struct list *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	list_init(entry);
}

#endif
