"""Check an installed package with NumPy and safetensors only: learn, save, load, merge; every kernel.

python tests/smoke.py, in any environment. The release workflow runs it on every wheel that it builds.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

import unitless as ul
from unitless.models.kernels import kernels


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) * [1e-6, 1.0, 1e6]
    y = X @ [2e6, 1.0, -3e-6] > 0
    model = ul.Learner(loss="logistic", learning_rate="auto", center=True)
    before = model.learn(X, y)
    assert np.mean((before > 0) == y) > 0.9
    other = ul.Learner(loss="logistic", learning_rate="auto", center=True)
    assert np.array_equal(other.learn(X * [2.0**40, 0.5, 2.0**-40], y), before), "powers of two change bits"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.unitless")
        model.save(path)
        assert np.array_equal(ul.load(path).predict(X), model.predict(X))
    assert ul.merge([model, other]).examples == 4000
    classes = ul.OneVsAll()
    classes.learn(X, np.where(y, "yes", "no"))
    assert set(classes.classes) == {"yes", "no"}
    script = "import sys, unitless; assert not {'pyarrow', 'scipy', 'pandas', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
    print(f"unitless {ul.__version__} on {sys.platform}: kernels {', '.join(kernels())}")


if __name__ == "__main__":
    main()
