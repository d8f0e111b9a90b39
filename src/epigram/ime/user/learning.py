"""Learns corrections: phrases bound to their neighbours, and small bonuses on content words.

A correction must hold where it was made and must not change other text. Each span of words that was corrected becomes
one or more phrases (:class:`epigram.ime.user.words.Phrase`), as probable as they must be to win:

- the span with the neighbours up to the next content word on one side and one neighbour on the other; at the edge of
  the reading it is anchored there, and a span of function words also to the last characters of the text before it;
- a content word in place of another, not of another spelling, needs the neighbours on one side only;
- a whole short reading, if it has a content word, becomes a phrase that holds after any text.

A content word gets a small bonus in every context (``STEPS``) once the correction to it is repeated. Function words
and readings of one kana get none, and neither do kanji in place of kana that are the more usual spelling (事 for こと):
whether these are a habit of the user a few corrections do not tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from epigram.errors import InputError
from epigram.ime.corrections import FIRST_LOGP, Lesson, is_specific, new_word, spell_as
from epigram.ime.decoder import Conversion, Word
from epigram.ime.kana import join_token
from epigram.ime.typing.candidates import is_variant
from epigram.ime.user.words import Phrase
from epigram.ime.word_classes import ANY

if TYPE_CHECKING:
    from epigram.ime.converter import KanaKanjiConverter

ROUNDS = 30
LONGEST_LESSON = 200
MARGIN = 1.0
"""Lead of the chosen text over the wrong one, in natural log-probability."""
FURTHER = 2.0
"""Bonus of a phrase for each round in which it does not win."""
SHORT, WHOLE = 4, 8.0
"""Most words of a whole reading that is a phrase, and its bonus, so that it wins after other text, too."""
STEPS = (0.0, 1.0, 2.0)
"""Bonus of a content word after the first, second and third correction to it."""
REACH = 3
"""Greatest number of neighbours on one side of a phrase."""
LEFT = 2
"""Characters of the text before the reading that a span of function words is bound to."""


class Span(NamedTuple):
    """Range of words of the chosen text that differs, and the wrong words in its place."""

    first: int
    last: int
    wrong: tuple[Word, ...]


def learn(converter: KanaKanjiConverter, kana: str, chosen: str, before: str) -> None:
    """Learn to write ``kana`` as ``chosen``; the converter follows the text ``before``."""
    if not kana or not chosen:
        raise InputError("a correction needs a reading and a text")
    if len(kana) > LONGEST_LESSON:
        raise InputError(
            f"a correction of {len(kana)} characters; correct a segment of at most {LONGEST_LESSON}"
        )
    winner = converter.best(kana)
    if winner.text == chosen:
        return
    lesson = Lesson(kana, chosen, before=before)
    words = spell_as(converter.decoder, kana, chosen)
    if words is None:
        reading, surface = new_word(winner, chosen)
        lesson.words.append((reading, surface, FIRST_LOGP))
    journal = converter.journal
    journal.append(lesson)
    words = words or spell_as(converter.decoder, kana, chosen)
    if words is not None:
        spans = list(changed_spans(words, winner.words))
        for span in spans:
            lesson.bonuses |= dict(_bonuses(converter, kana, words, span))
        for wide in (True, False):
            if _strengthen(converter, lesson, words, spans, wide):
                return
    lesson.bonuses.clear()
    whole = (Word(0, len(kana), chosen, -1),)
    if _strengthen(converter, lesson, whole, [Span(0, 1, winner.words)], False):
        return
    journal.pop()
    raise InputError(f"could not learn to write {kana!r} as {chosen!r}; correct a shorter segment")


def changed_spans(chosen: Sequence[Word], wrong: Sequence[Word]) -> Iterator[Span]:
    """Spans between common word boundaries of which the texts differ.

    Examples
    --------
    >>> chosen = [Word(0, 2, "石", 1), Word(2, 3, "の", 2), Word(3, 5, "端", 3)]
    >>> [(span.first, span.last) for span in changed_spans(chosen, [*chosen[:2], Word(3, 5, "橋", 4)])]
    [(2, 3)]
    """
    ends, first = {word.end for word in wrong}, 0
    for k, word in enumerate(chosen):
        if word.end not in ends:
            continue
        theirs = tuple(other for other in wrong if chosen[first].start <= other.start < word.end)
        mine = "".join(own.surface for own in chosen[first : k + 1])
        if mine != "".join(other.surface for other in theirs):
            yield Span(first, k + 1, theirs)
        first = k + 1


def phrases_of(kana: str, words: Sequence[Word], span: Span, before: str, wide: bool) -> Iterator[Phrase]:
    """Phrases of a changed span with log-probability 0.

    With ``wide``, neighbours on one side are enough for a content word in place of another.
    """
    first, last, n = span.first, span.last, len(words)
    specific = _has_content(kana, words[first:last]) and _has_content(kana, span.wrong)
    left, right = _neighbours(kana, words[:first][::-1]), _neighbours(kana, words[last:])
    if wide and specific and (left or right) and not _is_spelling(words[first:last], span.wrong):
        if left:
            yield Phrase(_pairs(kana, words[first - left : last]), 0.0)
        if right:
            yield Phrase(_pairs(kana, words[first : last + right]), 0.0)
        return
    begin = first - (left or min(first, 1 if right else REACH))
    end = last + min(n - last, 1 if left else right or REACH)
    tail = before[-LEFT:] if first == 0 and not specific else None
    edges = begin == 0 and not left, end == n and not right
    yield Phrase(_pairs(kana, words[begin:end]), 0.0, *edges, tail)


def _is_spelling(words: Sequence[Word], wrong: Sequence[Word]) -> bool:
    """Whether a correction only spells the words otherwise, as 行う and 行なう."""
    one, other = ("".join(word.surface for word in own) for own in (words, wrong))
    return is_variant(one, other)


def _neighbours(kana: str, words: Sequence[Word]) -> int:
    """Number of neighbours, nearest first, up to a content word; 0 if that is too far."""
    near = (n for n, word in enumerate(words[:REACH], 1) if _has_content(kana, [word]))
    return next(near, 0)


def _strengthen(
    converter: KanaKanjiConverter, lesson: Lesson, words: tuple[Word, ...], spans: list[Span], wide: bool
) -> bool:
    """Raise the phrases of all spans until the choice wins; returns False if it cannot."""
    kana, logps = lesson.reading, dict[Phrase, float]()
    first = converter.best(kana)
    raised = max(_lead(converter, first, words), 0.0) + MARGIN
    for _ in range(ROUNDS):
        for span in spans:
            for phrase in phrases_of(kana, words, span, lesson.before, wide):
                logps[phrase] = logps.get(phrase, _own_logp(converter, phrase)) + raised
        lesson.phrases = [phrase._replace(logp=logp) for phrase, logp in logps.items()]
        converter.journal.refresh()
        winner = converter.best(kana)
        if winner.text == lesson.chosen:
            _add_whole(converter, lesson, words, first)
            return True
        spans, raised = list(changed_spans(words, winner.words)), FURTHER
    lesson.phrases = []
    converter.journal.refresh()
    return False


def _add_whole(
    converter: KanaKanjiConverter, lesson: Lesson, words: tuple[Word, ...], wrong: Conversion
) -> None:
    """Add a short reading as a phrase that leads the wrong conversion, also after other text.

    In a longer one its phrases decide: as one edge it would lose the pairs of words that the rescorer knows.
    """
    kana = lesson.reading
    if len(words) > SHORT or not _has_content(kana, words):
        return
    whole = Phrase(_pairs(kana, words), 0.0, True, True)
    whole = whole._replace(logp=_own_logp(converter, whole))
    others = [phrase for phrase in lesson.phrases if phrase[:1] + phrase[2:] != whole[:1] + whole[2:]]
    lesson.phrases = [*others, whole]
    converter.journal.refresh()
    lead = _lead(converter, wrong, (Word(0, len(kana), whole.surface, -1),))
    lesson.phrases = [*others, whole._replace(logp=whole.logp + max(lead, 0.0) + MARGIN + WHOLE)]
    converter.journal.refresh()


def _lead(converter: KanaKanjiConverter, winner: Conversion, words: tuple[Word, ...]) -> float:
    """Lead of the wrong conversion over the chosen words, after rescoring."""
    score = converter.decoder.score
    ways = [Conversion(winner.reading, way, score(winner.reading, way)) for way in (winner.words, words)]
    scores = converter.scores(ways)
    lead = float(scores[0] - scores[1])
    return lead if lead < 1e6 else 0.0


def _own_logp(converter: KanaKanjiConverter, phrase: Phrase) -> float:
    """Log-probability of the words of a phrase after unknown words."""
    decoder = converter.decoder
    node, total = ANY, 0.0
    for word in decoder.words_of(phrase.words, 0):
        if word.id >= 0:
            logp, node = decoder.scorer.step(node, word.id)
        else:
            logp, to = decoder.special_score(phrase.reading[word.start : word.end], word.surface)
            logp, node = (logp if logp > -1e6 else FIRST_LOGP), to
        total += logp
    return total


def _bonuses(
    converter: KanaKanjiConverter, kana: str, words: Sequence[Word], span: Span
) -> Iterator[tuple[str, float]]:
    """Bonus of each content word of a span by the number of earlier corrections to it."""
    late = not _has_content(kana, span.wrong)
    lessons = converter.journal.lessons[:-1]
    for word in words[span.first : span.last]:
        reading = kana[word.start : word.end]
        if (
            word.id < 0
            or not _has_content(kana, [word])
            or (late and _is_kana_usual(converter, word.id, reading))
        ):
            continue
        token = join_token(word.surface, reading)
        n = sum(token in lesson.bonuses for lesson in lessons)
        yield token, STEPS[min(n, len(STEPS) - 1)] - (STEPS[min(n - 1, len(STEPS) - 1)] if n else 0.0)


def _is_kana_usual(converter: KanaKanjiConverter, word: int, reading: str) -> bool:
    """Whether a word is more often written in kana, as 事 is."""
    in_kana = converter.decoder.lexicon.find(reading, reading)
    logp = converter.decoder.scorer.tables.pair_logp
    return in_kana >= 0 and bool(logp[in_kana] > logp[word])


def _has_content(kana: str, words: Sequence[Word]) -> bool:
    return any(is_specific(word.surface, kana[word.start : word.end]) for word in words)


def _pairs(kana: str, words: Sequence[Word]) -> tuple[tuple[str, str], ...]:
    return tuple((word.surface, kana[word.start : word.end]) for word in words)
