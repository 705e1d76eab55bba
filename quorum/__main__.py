"""Run the command ``quorum`` as ``python -m quorum``, in a clone of the repository where it is not installed."""

from quorum.command import main

if __name__ == "__main__":
    main()
