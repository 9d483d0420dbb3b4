// SPDX-License-Identifier: GPL-2.0
/*
 * A disk on top of another, /dev/farswap-disk, that holds some writes back and
 * lets later ones overtake them, as the block layer and real disks may. For tests
 * only: dm-delay keeps the order.
 *
 * device	path of the disk below
 * hold_every	every so manieth write is held; 0: none
 * hold_ms	for how long, at most; the younger of those held go first
 * held		writes that were held so far
 * late_ms	reads of more than a page end so much after they have read: what they
 *		bring may be old by then
 */
#define pr_fmt(fmt) "farswap-disk: " fmt

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#define DISK_NAME	"farswap-disk"

static char *device = "";
module_param(device, charp, 0444);
static unsigned int hold_every;
module_param(hold_every, uint, 0644);
static unsigned int hold_ms = 100;
module_param(hold_ms, uint, 0644);
static unsigned int held;
module_param(held, uint, 0444);

static unsigned int late_ms;
module_param(late_ms, uint, 0644);

static struct file *disk_below;
static struct gendisk *disk;

static DEFINE_SPINLOCK(disk_lock);	/* of the four below */
static struct bio_list disk_late = BIO_EMPTY_LIST;
static struct bio_list disk_held = BIO_EMPTY_LIST;
static unsigned int disk_writes;

static void disk_pass(struct bio *bio)
{
	bio_set_dev(bio, file_bdev(disk_below));
	submit_bio_noacct(bio);
}

static void disk_release(struct work_struct *work)
{
	struct bio_list list;
	struct bio *bio;

	spin_lock_irq(&disk_lock);
	list = disk_held;
	bio_list_init(&disk_held);
	spin_unlock_irq(&disk_lock);
	while ((bio = bio_list_pop(&list)))
		disk_pass(bio);
}

static DECLARE_DELAYED_WORK(disk_work, disk_release);

static bool disk_hold(struct bio *bio)
{
	unsigned int every = READ_ONCE(hold_every);
	bool hold = false;

	if (bio_op(bio) != REQ_OP_WRITE || !every)
		return false;
	spin_lock_irq(&disk_lock);
	if (!(++disk_writes % every)) {
		hold = true;
		held++;
		bio_list_add_head(&disk_held, bio);
	}
	spin_unlock_irq(&disk_lock);
	if (hold)
		schedule_delayed_work(&disk_work, msecs_to_jiffies(READ_ONCE(hold_ms)));
	return hold;
}

static void disk_read_late(struct bio *bio)
{
	struct bio *below = bio_alloc_clone(file_bdev(disk_below), bio, GFP_NOIO, &fs_bio_set);

	bio->bi_status = errno_to_blk_status(submit_bio_wait(below));
	bio_put(below);
	msleep(READ_ONCE(late_ms));
	bio_endio(bio);
}

static void disk_read_fn(struct work_struct *work)
{
	struct bio_list list;
	struct bio *bio;

	spin_lock_irq(&disk_lock);
	list = disk_late;
	bio_list_init(&disk_late);
	spin_unlock_irq(&disk_lock);
	while ((bio = bio_list_pop(&list)))
		disk_read_late(bio);
}

static DECLARE_WORK(disk_read_work, disk_read_fn);

static bool disk_is_late(struct bio *bio)
{
	if (bio_op(bio) != REQ_OP_READ || bio->bi_iter.bi_size <= PAGE_SIZE ||
	    !READ_ONCE(late_ms))
		return false;
	spin_lock_irq(&disk_lock);
	bio_list_add(&disk_late, bio);
	spin_unlock_irq(&disk_lock);
	schedule_work(&disk_read_work);
	return true;
}

static void disk_submit(struct bio *bio)
{
	if (!disk_hold(bio) && !disk_is_late(bio))
		disk_pass(bio);
}

static const struct block_device_operations disk_ops = {
	.owner		= THIS_MODULE,
	.submit_bio	= disk_submit,
};

static int __init disk_init(void)
{
	struct queue_limits limits = {};
	int err;

	disk_below = bdev_file_open_by_path(device, BLK_OPEN_READ | BLK_OPEN_WRITE,
					    &disk_below, NULL);
	if (IS_ERR(disk_below)) {
		pr_err("can't open device=\"%s\"; give the path of a disk\n", device);
		return PTR_ERR(disk_below);
	}
	disk = blk_alloc_disk(&limits, NUMA_NO_NODE);
	if (IS_ERR(disk)) {
		err = PTR_ERR(disk);
		goto out_close;
	}
	disk->fops = &disk_ops;
	strscpy(disk->disk_name, DISK_NAME, DISK_NAME_LEN);
	set_capacity(disk, bdev_nr_sectors(file_bdev(disk_below)));
	err = add_disk(disk);
	if (err)
		goto out_put;
	return 0;

out_put:
	put_disk(disk);
out_close:
	bdev_fput(disk_below);
	return err;
}

static void __exit disk_exit(void)
{
	del_gendisk(disk);
	flush_delayed_work(&disk_work);
	flush_work(&disk_read_work);
	put_disk(disk);
	bdev_fput(disk_below);
}

module_init(disk_init);
module_exit(disk_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A disk that changes the order of writes and answers late, for tests");
