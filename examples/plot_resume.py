"""
Resuming a killed job
=====================

A long fit is killed in the middle, without warning. How much is lost, and is the result the same?
"""

# %%
# The job
# -------
#
# A script in a process of its own: twelve blocks, a checkpoint after each (every minute would be
# the default). Reading a block takes a while, as it does from a slow disk.

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from pinvlearn import load
from pinvlearn.summaries import Tree

JOB = """
import sys, time
import numpy as np
from pinvlearn import ExtremeSVMClassifier, save

class Blocks:
    def __len__(self):
        return 12
    def __getitem__(self, number):
        time.sleep(0.1)
        rng = np.random.default_rng(number)
        X = rng.standard_normal((2000, 10))
        return X, (X[:, 0] * X[:, 1] > X[:, 2]).astype(int)

model = ExtremeSVMClassifier(n_hidden=200, alpha=1e-2, random_state=0, n_jobs=1)
model.fit_blocks(Blocks(), checkpoint=sys.argv[1], interval=0.0)
save(model, sys.argv[2])
"""
folder = Path(tempfile.mkdtemp())


def start(name, checkpoint):
    """The job, running."""
    return subprocess.Popen([sys.executable, "-c", JOB, folder / checkpoint, folder / name])


# %%
# Killed, and started again
# -------------------------
#
# ``kill`` gives the process no chance to tidy up. The checkpoint is written to another file first
# and moved into place when it is complete, so whatever is there can be read.

seen = []
began = time.perf_counter()
for attempt in range(2):
    job = start("resumed.skops", "checkpoint.npz")
    while job.poll() is None:
        time.sleep(0.05)
        if (folder / "checkpoint.npz").exists():
            done = Tree.load(folder / "checkpoint.npz").n_blocks
            seen.append((time.perf_counter() - began, done, attempt))
            if attempt == 0 and done >= 5:
                job.kill()
                print(f"killed with {done} blocks in the checkpoint")
                break
    job.wait()

start("whole.skops", "other.npz").wait()
resumed, whole = load(folder / "resumed.skops"), load(folder / "whole.skops")
print("the same bits as without the kill:", np.array_equal(resumed.coef_, whole.coef_))

# %%
# Only the block at work was lost. The second process reads what the checkpoint has counted, to see
# that it is still the same, and adds up the rest; a checkpoint of other blocks, other parameters or
# with a flipped bit is refused.

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for attempt, label in enumerate(("first process", "second process")):
    times, counts = zip(*[(t, n) for t, n, a in seen if a == attempt], strict=True)
    ax.step(times, counts, where="post", marker=".", label=label)
ax.set(xlabel="seconds", ylabel="blocks in the checkpoint", ylim=(0, 13))
ax.legend()
plt.show()
