"""Looks at running Slurm clusters, whatever the number of viewers, and keeps what it saw.

When: `loop` (leases, threads) and `pace` (pauses, who watches). What: `look`, by a source that the queue can
bear (`sources`). A short queue: `by_list`. Of a long one single jobs `by_ids` (`singles`), and in the
background `whole`: `by_lines` of squeue (`queue_lines`) or `by_states`, with what both leave to do
(`leftovers`). It is saved by `rows` (`columns`, `updates`, arrays as `lines`, in `turns` with submits), and
`resolve` settles submits by their `marks`. Beside the jobs: `partitions`, `inventory`.
"""
