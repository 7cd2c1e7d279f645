// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vtpu_program.c - programs: the image goes into reserved HBM, the device checks it.
 *
 * The driver believes nothing of an image until the device has accepted it, and
 * reads what it wants to know (how many arguments a job has) from the copy in
 * HBM that the device has seen and no client can reach.
 */
#include <linux/dma-mapping.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "vtpu_device.h"

#define REPORT_BYTES \
	(sizeof(struct vtpu_load_result) + VTPU_MAX_RECORDS * sizeof(struct vtpu_load_record))

/* ---- Life ---- */

static void unload(struct vtpu_program *program)
{
	struct vtpu_admin_cmd cmd = {
		.u.program.h.opcode = VTPU_ADMIN_PROGRAM_UNLOAD,
		.u.program.program = program->hw_id,
	};

	/* If there is nothing to unload the device says so, and that is all right. */
	vtpu_admin_exec(program->file->vdev, &cmd);
}

/* The opposite of program_place() */
static void program_unplace(struct vtpu_program *program)
{
	struct vtpu_file *vfile = program->file;

	vtpu_reserved_free(vfile->vdev, program->image, program->bytes);
	ida_free(&vfile->vdev->program_ids, program->hw_id);
	vtpu_uncharge(vfile, VTPU_QUOTA_PROGRAMS, 1);
	vtpu_vm_put(program->vm);
}

static void program_free(struct vtpu_program *program)
{
	vtpu_file_put(program->file);
	kfree(program);
}

static void program_release_work(struct work_struct *work)
{
	struct vtpu_program *program = container_of(work, struct vtpu_program, release_work);
	struct vtpu_file *vfile = program->file;
	struct vtpu_device *vdev = vfile->vdev;

	down_read(&vdev->reset_sem);
	mutex_lock(&vdev->list_lock);
	list_del(&program->node);
	mutex_unlock(&vdev->list_lock);
	unload(program);
	up_read(&vdev->reset_sem);

	vtpu_uncharge(vfile, VTPU_QUOTA_INSTRUCTIONS, program->result.instances);
	program_unplace(program);
	program_free(program);
}

static void program_release(struct kref *ref)
{
	struct vtpu_program *program = container_of(ref, struct vtpu_program, ref);

	queue_work(vtpu_wq, &program->release_work);
}

void vtpu_program_put(struct vtpu_program *program)
{
	if (program)
		kref_put(&program->ref, program_release);
}

/* vtpu_program_find() - a reference to a program of this file, or NULL */
struct vtpu_program *vtpu_program_find(struct vtpu_file *vfile, u32 id)
{
	struct vtpu_program *program;

	xa_lock(&vfile->programs);
	program = xa_load(&vfile->programs, id);
	if (program)
		kref_get(&program->ref);
	xa_unlock(&vfile->programs);
	return program;
}

/* ---- Load ---- */

static int write_image(struct vtpu_device *vdev, u64 to, const void *from, size_t bytes)
{
	int idx;

	if (!drm_dev_enter(&vdev->drm, &idx))
		return -ENODEV;
	memcpy_toio(vdev->reserved.mem + to, from, bytes);
	/* The image before the command that names it. */
	wmb();
	drm_dev_exit(idx);
	return 0;
}

/* Holds nothing while it reads the caller's memory, which may take for ever. */
static int copy_image(struct vtpu_device *vdev, u64 to, u64 from, u64 bytes)
{
	void *buffer = kvmalloc(SZ_64K, GFP_KERNEL);
	u64 done = 0;
	int ret = 0;

	if (!buffer)
		return -ENOMEM;
	while (done < bytes && !ret) {
		size_t part = min_t(u64, bytes - done, SZ_64K);

		if (copy_from_user(buffer, u64_to_user_ptr(from + done), part))
			ret = -EFAULT;
		else
			ret = write_image(vdev, to + done, buffer, part);
		done += part;
		cond_resched();
	}
	kvfree(buffer);
	return ret;
}

/*
 * A load may take long. A signal cancels it: UNLOAD of a program that is still
 * loading makes the device give up within milliseconds.
 */
static int wait_load(struct vtpu_device *vdev, struct vtpu_admin_cmd *cmd, u32 hw_id)
{
	struct vtpu_admin_cmd cancel = {
		.u.program.h.opcode = VTPU_ADMIN_PROGRAM_UNLOAD,
		.u.program.program = hw_id,
	};

	if (!wait_for_completion_interruptible(&cmd->completion))
		return cmd->error;
	vtpu_admin_exec(vdev, &cancel);
	vtpu_admin_wait(vdev, cmd);
	/* Loaded all the same, then unloaded; or given up. */
	return -ERESTARTSYS;
}

static int load(struct vtpu_program *program, void *report, bool interruptible)
{
	struct vtpu_device *vdev = program->file->vdev;
	struct vtpu_admin_cmd cmd = {
		.u.program.h.opcode = VTPU_ADMIN_PROGRAM_LOAD,
		.u.program.program = program->hw_id,
		.u.program.context = program->vm->context,
		.u.program.image = program->image,
		.u.program.bytes = program->bytes,
		.u.program.flags = program->flags,
		.u.program.report_bytes = REPORT_BYTES,
	};
	struct vtpu_load_result *result;
	dma_addr_t dma;
	int ret;

	result = dma_alloc_coherent(vdev->drm.dev, REPORT_BYTES, &dma, GFP_KERNEL);
	if (!result)
		return -ENOMEM;
	cmd.u.program.report = dma;
	vtpu_admin_start(vdev, &cmd);
	if (interruptible)
		ret = wait_load(vdev, &cmd, program->hw_id);
	else
		ret = vtpu_admin_wait(vdev, &cmd);
	if (report)
		memcpy(report, result, REPORT_BYTES);
	program->result = *result;
	dma_free_coherent(vdev->drm.dev, REPORT_BYTES, result, dma);
	return ret;
}

/* What a job must bring, from the image that the device has accepted. */
static void read_header(struct vtpu_program *program)
{
	void __iomem *image = program->file->vdev->reserved.mem + program->image;
	struct vtpu_image_section section;
	struct vtpu_image_header header;
	u64 offset = sizeof(header);
	u32 i;

	memcpy_fromio(&header, image, sizeof(header));
	program->width = header.width;
	program->nscalars = header.nscalars;
	for (i = 0; i < header.nsections; i++, offset += sizeof(section)) {
		if (offset + sizeof(section) > program->bytes)
			break;
		memcpy_fromio(&section, image + offset, sizeof(section));
		if (section.type == VTPU_SECTION_BASES)
			program->nbases = section.count;
	}
}

/* After a reset: load it again; it was good before. */
int vtpu_program_restore(struct vtpu_program *program)
{
	struct vtpu_load_result result = program->result;
	int ret = load(program, NULL, false);

	program->result = result;
	return ret;
}

static int report_to_user(const struct vtpu_program_create *args,
			  const struct vtpu_load_result *report)
{
	const struct vtpu_load_record *records = (const void *)(report + 1);
	struct vtpu_load_result result = *report;

	/* The device's count is not taken on trust, and the caller's room is respected. */
	result.records =
		min3(result.records, args->records ? args->max_records : 0, (u32)VTPU_MAX_RECORDS);
	if (args->result && copy_to_user(u64_to_user_ptr(args->result), &result, sizeof(result)))
		return -EFAULT;
	if (result.records && copy_to_user(u64_to_user_ptr(args->records), records,
					   result.records * sizeof(*records)))
		return -EFAULT;
	return 0;
}

static int check_create(struct drm_device *drm, const struct vtpu_program_create *args)
{
	struct vtpu_image_header header;
	int ret;

	if (args->pad || args->flags & ~VTPU_LOAD_FLAGS) {
		drm_dbg(drm, "bad program: flags 0x%x\n", args->flags);
		return -EINVAL;
	}
	if (args->bytes > VTPU_MAX_IMAGE_BYTES || args->max_records > VTPU_MAX_RECORDS)
		return -E2BIG;
	if (args->bytes < sizeof(header))
		return -EINVAL;
	if (copy_from_user(&header, u64_to_user_ptr(args->image), sizeof(header)))
		return -EFAULT;
	ret = vtpu_check_image(&header, args->bytes);
	if (ret)
		drm_dbg(drm, "bad image: magic 0x%08x, version %u, %llu bytes of %llu\n",
			header.magic, header.version, args->bytes, header.bytes);
	return ret;
}

/* The image is in place. Afterwards a reset loads the program again. */
static int program_load(struct vtpu_program *program, void *report)
{
	struct vtpu_file *vfile = program->file;
	struct vtpu_device *vdev = vfile->vdev;
	int ret, idx;

	ret = vtpu_begin(vdev, &idx);
	if (ret)
		return ret;
	ret = load(program, report, true);
	if (!ret) {
		read_header(program);
		program->result.records = 0;
		ret = vtpu_charge(vfile, VTPU_QUOTA_INSTRUCTIONS, program->result.instances);
	}
	if (ret) {
		unload(program);
	} else {
		mutex_lock(&vdev->list_lock);
		list_add_tail(&program->node, &vdev->programs);
		mutex_unlock(&vdev->list_lock);
	}
	vtpu_end(vdev, idx);
	return ret;
}

/* What a program needs before its image can come: address space, id, reserved HBM. */
static int program_place(struct vtpu_program *program)
{
	struct vtpu_file *vfile = program->file;
	struct vtpu_device *vdev = vfile->vdev;
	int ret, idx;

	ret = vtpu_begin(vdev, &idx);
	if (ret)
		return ret;
	program->vm = vtpu_file_vm(vfile);
	vtpu_end(vdev, idx);
	if (IS_ERR(program->vm))
		return PTR_ERR(program->vm);
	ret = vtpu_charge(vfile, VTPU_QUOTA_PROGRAMS, 1);
	if (ret)
		goto err_vm;
	ret = ida_alloc_range(&vdev->program_ids, 1, VTPU_MAX_PROGRAMS, GFP_KERNEL);
	if (ret < 0) {
		ret = ret == -ENOSPC ? -EBUSY : ret;
		goto err_quota;
	}
	program->hw_id = ret;
	program->image = vtpu_reserved_alloc(vdev, program->bytes);
	if (program->image)
		return 0;
	ret = -ENOSPC;
	ida_free(&vdev->program_ids, program->hw_id);
err_quota:
	vtpu_uncharge(vfile, VTPU_QUOTA_PROGRAMS, 1);
err_vm:
	vtpu_vm_put(program->vm);
	return ret;
}

static struct vtpu_program *program_alloc(struct vtpu_file *vfile,
					  const struct vtpu_program_create *args)
{
	struct vtpu_program *program = kzalloc(sizeof(*program), GFP_KERNEL_ACCOUNT);

	if (!program)
		return NULL;
	kref_init(&program->ref);
	INIT_WORK(&program->release_work, program_release_work);
	program->file = vtpu_file_get(vfile);
	program->bytes = args->bytes;
	program->flags = args->flags;
	return program;
}

static int program_create(struct vtpu_file *vfile, struct vtpu_program_create *args, void *report)
{
	struct vtpu_program *program = program_alloc(vfile, args);
	int ret, fault;

	if (!program)
		return -ENOMEM;
	ret = program_place(program);
	if (ret)
		goto err_free;
	ret = copy_image(vfile->vdev, program->image, args->image, args->bytes);
	if (ret)
		goto err_unplace;
	ret = program_load(program, report);
	fault = ret == -ERESTARTSYS ? 0 : report_to_user(args, report);
	if (ret)
		goto err_unplace;
	/* Last: another thread may destroy it at once. */
	ret = fault ?:
		      xa_alloc(&vfile->programs, &args->program, program, XA_LIMIT(1, S32_MAX),
			       GFP_KERNEL);
	if (ret)
		vtpu_program_put(program);
	return ret;

err_unplace:
	program_unplace(program);
err_free:
	program_free(program);
	return ret;
}

int vtpu_ioctl_program_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_program_create *args = data;
	void *report;
	int ret;

	ret = check_create(drm, args);
	if (ret)
		return ret;
	report = kzalloc(REPORT_BYTES, GFP_KERNEL);
	if (!report)
		return -ENOMEM;
	ret = program_create(file->driver_priv, args, report);
	kfree(report);
	return ret;
}

int vtpu_ioctl_program_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_program_destroy *args = data;
	struct vtpu_file *vfile = file->driver_priv;
	struct vtpu_program *program;

	if (args->pad)
		return -EINVAL;
	program = xa_erase(&vfile->programs, args->program);
	if (!program)
		return -ENOENT;
	vtpu_program_put(program);
	return 0;
}

int vtpu_ioctl_program_info(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vtpu_program_info *args = data;
	struct vtpu_program *program = vtpu_program_find(file->driver_priv, args->program);

	if (!program)
		return -ENOENT;
	args->width = program->width;
	args->nbases = program->nbases;
	args->nscalars = program->nscalars;
	args->image_bytes = program->bytes;
	args->result = program->result;
	vtpu_program_put(program);
	return 0;
}
