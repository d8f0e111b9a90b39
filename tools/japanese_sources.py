"""Sources of the Japanese text: public repository, commit, licence, and files.

``seen`` is False where the repository has no licence file for the text as it was read, and the licence is the one that
the original project states in public.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A source of text; ``files`` is a pattern of paths for each repository, ``kind`` an extractor."""

    name: str
    what: str
    repositories: dict[str, str]
    files: str
    kind: str
    licence: str
    seen: bool = True


CC_BY, CC_BY_SA = "CC BY 4.0", "CC BY-SA 4.0"
SOURCES = (
    Source("commonvoice", "Common Voice sentence lists", {"common-voice/common-voice": "bc2cc85"},
           r"^server/data/ja/.*\.txt$", "lines", "CC0 1.0"),
    Source("learnosm", "OpenStreetMap lessons (LearnOSM)", {"hotosm/learnosm": "8141f38"},
           r"_posts/ja/.*\.md$", "markdown", "CC0 1.0"),
    Source("law", "Japanese laws (e-Gov)", {"riywo/law.e-gov.go.jp": "5fe11bc"},
           r"^data/text/.*\.txt$", "law", "no copyright (Copyright Act of Japan, article 13)"),
    Source("aozora", "novels of Aozora Bunko by authors who died in or before 1945",
           {"aozorahack/aozorabunko_text": "0984f7d"},
           r"^cards/.*\.txt$", "aozora", "public domain"),
    Source("rohan", "ROHAN4600 by Masanori Morise, with readings", {"mmorise/rohan4600": "HEAD"},
           r"transcript_utf8\.txt$", "furigana", "CC0 1.0"),
    Source("ita", "ITA corpus by Masanori Morise and others, with readings", {"mmorise/ita-corpus": "HEAD"},
           r"transcript_ruby_utf8\.txt$", "furigana", "Unlicense"),
    Source("asdc", "Accommodation Search Dialog Corpus (Megagon Labs)", {"megagonlabs/asdc": "f37d657"},
           r"^data/(vanilla|supplemental/utterances)/.*l$|^data/main/dialog/json/.*\.json$|^data/main/scud/.*l$",
           "json text conditions", CC_BY),
    Source("ami", "AMI Meeting Parallel Corpus (dev and test)", {"tsuruoka-lab/AMI-Meeting-Parallel-Corpus": "3f72877"},
           r"^(dev|test)\.json$", "json ja_sentence ja", CC_BY),
    Source("quasi", "Quasi Japanese Reviews (Megagon Labs)", {"megagonlabs/quasi_japanese_reviews": "2a69131"},
           r"(json|jsonl|tsv|txt)$", "fields", CC_BY),
    Source("koniwa", "Koniwa speech corpus (transcripts)", {"koniwa/koniwa": "3cdb554"},
           r"^data/(?!tnc|librivox|roudoku).*\.json$", "json text_level0", CC_BY),
    Source("policy", "election manifestos (Team Mirai, Takahiro Anno)",
           {"team-mirai/policy": "a5f218a", "takahiroanno2024/election2024": "e9d9ab9"}, r"\.md$", "markdown loose",
           CC_BY),
    Source("blogs", "blogs of the Haskell users' group, seaoak and sorairolake",
           {"haskell-jp/blog": "35668cc", "seaoak/blog_with_hexo": "8ce2ba1", "sorairolake/zenn-articles": "c8eb00e"},
           r"\.md$", "markdown loose", CC_BY),
    Source("zenn-dev", "blog of atsushifx", {"atsushifx/zenn-dev": "dee2bc7"}, r"\.md$", "markdown loose", "MIT"),
    Source("opensource_guide", "Open Source Guides (GitHub and contributors)", {"github/opensource.guide": "ebc9678"},
           r"_articles/ja/.*\.md$", "markdown", CC_BY),
    Source("msdocs", "product help and training of Microsoft",
           {"MicrosoftDocs/Dynamics-365-Operations.ja-jp": "b5feebe", "changeworld/learn-pr.ja-JP": "6949c97",
            "isabella232/OfficeDocs-AlchemyInsights-pr.ja-JP": "0233fcd"}, r"\.(md|yml)$", "markdown", CC_BY),
    Source("k8s", "Kubernetes documentation (The Kubernetes Authors)", {"kubernetes/website": "56464fe"},
           r"^content/ja/.*\.md$", "markdown", CC_BY),
    Source("react", "React documentation (Meta Platforms and translators)", {"reactjs/ja.react.dev": "7f38231"},
           r"^src/content/.*\.md$", "markdown", CC_BY),
    Source("vue", "Vue documentation (Evan You and translators)", {"vuejs-translations/docs-ja": "c627102"},
           r"\.md$", "markdown", CC_BY),
    Source("covid", "COVID-19 pages of Okayama and Kobe (Code for Okayama, Code for Kobe)",
           {"stopcovid19-okayama/covid19": "7c6f5db", "codeforjapan/kobe-stopcovid19": "f72da59"},
           r"(locales/ja\.json|data/.*\.json)$", "fields", "MIT"),
    Source("rust", "The Rust Programming Language (The Rust Project Developers, Rust-ja)",
           {"rust-lang-ja/book-ja": "822ffbb"},
           r"\.md$", "markdown", "MIT or Apache-2.0"),
    Source("kftt", "Wikipedia articles about Kyoto, Japanese side of the bilingual corpus of NICT, version 2.01",
           {"venali/BilingualCorpus": "e5fcb65"}, r"\.xml$", "kftt", "CC BY-SA 3.0"),
    Source("jaquad", "JaQuAD: Wikipedia paragraphs and questions (So, Byun, Kang, Cho)",
           {"SkelterLabsInc/JaQuAD": "23f5d72"}, r"^data/.*\.json$", "json context question", "CC BY-SA 3.0"),
    Source("mdn", "MDN Web Docs (Mozilla Contributors)", {"mdn/translated-content": "1682ae4"},
           r"^files/ja/.*\.md$", "markdown", "CC BY-SA 2.5"),
    Source("wac", "Wikipedia Annotated Corpus (Kyoto University), with readings",
           {"ku-nlp/WikipediaAnnotatedCorpus": "7d87af5"}, r"^knp/.*\.knp$", "knp", CC_BY_SA),
    Source("jcola", "JCoLA, acceptable sentences (Taiga Someya, Yushi Sugimoto, Yohei Oseki)",
           {"osekilab/JCoLA": "736d9ee"},
           r"\.json$", "jcola", CC_BY_SA),
    Source("rails", "Rails Guides (Ruby on Rails, YassLab)", {"yasslab/railsguides.jp": "9836cf7"},
           r"guides/source/ja/.*\.md$", "markdown", CC_BY_SA),
    Source("innersource", "InnerSource Learning Path (InnerSource Commons)",
           {"InnerSourceCommons/InnerSourceLearningPath": "8fc38b7"}, r"(?i)(/ja/|-ja|\.ja).*\.(md|asciidoc|adoc)$",
           "markdown", CC_BY_SA),
    Source("tatoeba", "Tatoeba, all Japanese sentences",
           {"shioubi0216/ToneMasterAI": "a1d4d95", "futurebridge/ZukaiML": "70f3542"},
           r"jpn_sentences\.tsv\.bz2$|^jpn\.txt$", "tatoeba", "CC BY 2.0 FR", seen=False),
    Source("tanaka", "Tanaka corpus, now part of Tatoeba", {"odashi/small_parallel_enja": "312408a"},
           r"^(train|dev|test)\.ja$", "lines glued", "CC BY 2.0 FR", seen=False),
    Source("wikinews", "Japanese Wikinews (Wikinews contributors)", {"tm4roon/jawikinews-headline-dataset": "cfdf158"},
           r"raw/cleaned-data\.tsv\.gz$", "wikinews", "CC BY 2.5", seen=False),
)  # fmt: skip

LEXICON = """\
Words, readings, parts of speech and costs of the lexicon, and the words and readings of all text without
readings of its own, come from SudachiDict core 20261015 (https://github.com/WorksApplications/SudachiDict),
by Works Applications Co., Ltd., Apache License 2.0, which includes:

- UniDic (https://clrd.ninjal.ac.jp/unidic/), Copyright (c) 2011-2013, The UniDic Consortium. All rights
  reserved. Redistribution and use in source and binary forms, with or without modification, are permitted
  provided that the following conditions are met: redistributions of source code must retain the above
  copyright notice, this list of conditions and the following disclaimer; redistributions in binary form must
  reproduce the above copyright notice, this list of conditions and the following disclaimer in the
  documentation and/or other materials provided with the distribution; neither the name of the UniDic
  Consortium nor the names of its contributors may be used to endorse or promote products derived from this
  software without specific prior written permission. THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND
  CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED
  WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE
  COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR
  CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF
  USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN
  CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF
  THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
- mecab-ipadic-NEologd (https://github.com/neologd/mecab-ipadic-neologd), Copyright (C) 2015-2019 Toshinori
  Sato (@overlast), Apache License 2.0.
"""


def notice() -> str:
    """Return the text of NOTICE: every source with its licence, origin and commit."""
    rows = []
    for source in SOURCES:
        relied = (
            ""
            if source.seen
            else " (as stated by the project; the repository has no licence file for the text)"
        )
        rows.append(f"- {source.what}: {source.licence}{relied}")
        rows += [
            f"  https://github.com/{name}" + ("" if commit == "HEAD" else f", commit {commit}")
            for name, commit in source.repositories.items()
        ]
    return "\n".join([
        "epigram-japanese",
        "Licence of the model: Creative Commons Attribution-ShareAlike 4.0 International (see LICENSE).",
        "",
        "The n-grams, words and weights of this model were learnt from sentences of the following texts. The",
        "model holds no text of them. They were changed: cut into sentences, normalised, filtered, cut into",
        "words with readings, and counted.",
        "",
        *rows,
        "",
        LEXICON,
        "The epigram package itself is under the MIT licence.",
        "",
    ])  # fmt: skip


def attribution() -> str:
    """Return the sources and licences in one line, for the header of the model."""
    parts = [f"{source.name} ({source.licence})" for source in SOURCES]
    return ", ".join([*parts, "SudachiDict (Apache-2.0, with UniDic and NEologd)"])
