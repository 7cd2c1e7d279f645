/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vtpu_trace.h - trace events of the hardware side: a job enters its ring, a
 * completion is taken. What comes before and after is in the scheduler's own
 * events (gpu_scheduler).
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vtpu

/* clang-format off: the macros have their own shape */
#if !defined(VTPU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VTPU_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(vtpu_job_start, TP_PROTO(u32 queue, u32 seq, u32 program, u32 args_bytes),
	    TP_ARGS(queue, seq, program, args_bytes),
	    TP_STRUCT__entry(__field(u32, queue) __field(u32, seq) __field(u32, program)
				     __field(u32, args_bytes)),
	    TP_fast_assign(__entry->queue = queue; __entry->seq = seq; __entry->program = program;
			   __entry->args_bytes = args_bytes;),
	    TP_printk("queue=%u seq=%u program=%u args_bytes=%u", __entry->queue, __entry->seq,
		      __entry->program, __entry->args_bytes));

TRACE_EVENT(vtpu_job_done, TP_PROTO(u32 queue, u32 seq, u32 status, u64 cycles),
	    TP_ARGS(queue, seq, status, cycles),
	    TP_STRUCT__entry(__field(u32, queue) __field(u32, seq) __field(u32, status)
				     __field(u64, cycles)),
	    TP_fast_assign(__entry->queue = queue; __entry->seq = seq; __entry->status = status;
			   __entry->cycles = cycles;),
	    TP_printk("queue=%u seq=%u status=0x%x cycles=%llu", __entry->queue, __entry->seq,
		      __entry->status, __entry->cycles));

#endif /* VTPU_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vtpu_trace
#include <trace/define_trace.h>
