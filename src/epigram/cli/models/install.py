"""``epigram models install``: installs the distribution of a model with pip."""

from __future__ import annotations

import os
import subprocess
import sys

from epigram.errors import InputError


def command(
    what: str,
) -> None:
    """Install a model: from a wheel, a folder, or by name from the folder models of a checkout.

    Parameters
    ----------
    what NAME|WHEEL|FOLDER : A name such as english, a wheel, or a folder.
    """
    folder = os.path.join("models", what)
    target = what if os.path.exists(what) else folder if os.path.isdir(folder) else None
    if target is None:
        raise InputError(
            f"there is no file or folder {what!r} and no folder {folder!r}. In a checkout of epigram: "
            f"pip install ./models/{what}; elsewhere give the path of the model's wheel"
        )
    if os.sep not in target:
        target = os.path.join(".", target)  # pip would look for a distribution of this name
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-deps", target], check=False, stdout=sys.stderr
    )
    if done.returncode:
        raise InputError("pip could not install it; see its messages above", path=target)
