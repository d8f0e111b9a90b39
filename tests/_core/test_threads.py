"""Thread pools: results keep their order, and errors of tasks reach the caller."""

from __future__ import annotations

import threading
import time

import pytest

from epigram._core.threads import Team


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_team_keeps_the_order_and_says_what_failed(threads: int) -> None:
    at_work = set()

    def work(k: int) -> int:
        at_work.add(threading.get_ident())
        time.sleep(0.002)
        return 1 // (k - 20) if k >= 20 else k * k

    with Team(threads) as team:
        assert team.run(work, range(20)) == [k * k for k in range(20)]
        assert len(at_work) <= threads
        assert threading.get_ident() in at_work
        assert len(at_work) > 1 or threads == 1
        assert team.run(work, []) == []
        for last in (20, 21):  # the error of one task, whoever does it, and the team goes on
            with pytest.raises(ZeroDivisionError):
                team.run(work, [*range(last), 20])
        assert team.run(lambda k: team.run(work, [k, k + 1]), [1, 2, 3]) == [[1, 4], [4, 9], [9, 16]]
