"""What can go wrong, under one root.

Error
├── OptionError     an option that does not exist or does not fit the others    (also a ValueError)
├── InputError      data that cannot be learned from; nothing was changed       (also a ValueError)
│   └── DatasetError             one of the paper's datasets is damaged, another one, or cannot be downloaded
│       └── MissingDatasetError  it is not there, and was not to be downloaded
├── DivergedError   the numbers ran away; the rows before are learned           (also an ArithmeticError)
├── ModelFileError  a file that is no model, or a damaged one
└── MergeError      models that do not fit together                             (also a ValueError)
"""


class Error(Exception):
    """The root of all errors of this package."""


class OptionError(Error, ValueError):
    """An option does not exist or does not fit the others."""


class InputError(Error, ValueError):
    """The data cannot be learned from; the learner is as it was."""


class DatasetError(InputError):
    """One of the paper's datasets is damaged, is another one than its name says, or cannot be downloaded."""


class MissingDatasetError(DatasetError):
    """One of the paper's datasets is not there, and was not to be downloaded."""


class DivergedError(Error, ArithmeticError):
    """The numbers ran away, as gradient descent's do at too large a rate; the rows before are learned."""


class ModelFileError(Error):
    """A file is no model, or a damaged one."""


class MergeError(Error, ValueError):
    """Models do not fit together."""
