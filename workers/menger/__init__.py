"""The roles of distributed training, each a process: replay shards, learner, model caches, actors.

One item of data: env.step → act(params v) → Unroll[T] → replay shard → batch [T, B] → V-trace step → params v+1 →
model server of the learner → cache → actor. Design: docs/learning.md.
"""
