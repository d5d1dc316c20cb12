"""For all tests."""

import signal


def pytest_configure():
    """What a shell starts in the background ignores SIGINT, and so would the processes that tests interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
