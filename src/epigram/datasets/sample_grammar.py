"""The grammar and lexicon behind the sample data, written for this project.

A rule is ``Symbol weight : expansion``. In an expansion ``[NP`` ... ``]`` is a chunk, ``word_TAG`` stands for
itself, ``<class>`` draws a word from the lexicon (its part of speech is what comes before the dot), and a
capitalised name is expanded further. ``.s`` and ``.p`` are its number; ``.#`` is the number of the expansion
it stands in, ``.~`` a number drawn afresh. What follows a colon is the relation to the head of the expansion, its one
part without; ``( ... ):relation`` is a part with a head of its own, and ``:=relation`` marks a head that says itself
how it hangs from what is above.

What makes the data worth tagging: many stems are noun and verb (``the cook``, ``they cook``) or adjective
and noun (``a light box``, ``the light``); ``before`` opens a prepositional phrase or a clause; ``up`` is
particle or preposition; ``that`` is determiner, conjunction or relative; ``and`` stands inside a noun phrase
or between two; ``'s`` is possessive or verb; some words are kept for the test part.
"""

from __future__ import annotations

RULES = """
S 9 : Clause.~ ._.:punct
S 3 : Front:dep ,_,:punct Clause.~ ._.:punct
S 2 : Clause.~ ( [SBAR <IN.sub>:mark ] Clause.~ ):advcl ._.:punct
S 1 : Clause.~ ( ,_,:punct <CC.clause>:cc Clause.~ ):conj ._.:punct
S 1 : [INTJ Please_UH:discourse ] [VP <VB.t> ] Object.~:obj ._.:punct
S 1 : <MD.o>:aux Subject.~:nsubj [VP <VB.t> ] Object.~:obj ?_.:punct

Front 3 : Where:=obl
Front 2 : [ADVP <RB.time>:=advmod ]
Front 2 : [SBAR <IN.sub>:mark ] Clause.~:=advcl
Front 1 : [VP <VBG.t>:=advcl ] Object.~:obj

Clause.# 12 : Subject.#:nsubj Pred.#
Clause.# 1 : Subject.#:nsubj Pred.# ( and_CC:cc Pred.# ):conj
Clause.# 1 : Subject.#:nsubj [ADVP <RB.adv>:advmod ] Pred.#
Clause.# 1 : [NP there_EX:expl ] [VP Was.# ] Noun.#:nsubj Where:obl

Pred.# 5 : [VP Vt.# ] Object.~:obj
Pred.# 4 : [VP Vt.# ] Object.~:obj Where:obl
Pred.# 3 : [VP Vi.# ] Where:obl
Pred.# 2 : [VP Vi.# ] [ADVP <RB.manner>:advmod ]
Pred.# 1 : [VP <RB.manner>:advmod Vt.# ] Object.~:obj
Pred.# 1 : [VP Vd.# ] Person:iobj Object.~:obj
Pred.# 1 : [VP Vd.# ] Thing.~:obj ( [PP to_TO:case ] Person ):obl
Pred.# 2 : [VP Vw.# ( to_TO:mark <VB.t> ] Object.~:obj ):xcomp
Pred.# 1 : [VP Vs.# ] ( [SBAR that_IN:mark ] Clause.~ ):ccomp
Pred.# 1 : [VP Vs.# ] Clause.~:ccomp
Pred.# 2 : [VP Was.#:cop ] [ADJP <JJ> ]
Pred.# 1 : [VP Was.#:cop ] [ADJP <RB.deg>:advmod <JJ> ]
Pred.# 1 : [VP Was.#:cop ] [ADJP <JJ> ] ( [PP <IN.for>:case ] Noun.~ ):obl
Pred.# 2 : [VP Was.#:aux <VBG.t> ] Object.~:obj
Pred.# 1 : [VP Was.#:aux:pass <RB.adv>:advmod <VBN.t> ] Agent:obl
Pred.# 1 : [VP Was.#:aux:pass <VBN.t> ] Agent:obl
Pred.# 1 : [VP Have.#:aux <VBN.t> ] Object.~:obj
Pred.# 1 : [VP Have.#:aux <RB.adv>:advmod <VBN.t> ] Object.~:obj
Pred.# 2 : [VP <MD>:aux <VB.t> ] Object.~:obj
Pred.# 1 : [VP Do.#:aux not_RB:advmod <VB.t> ] Object.~:obj
Pred.# 2 : [VP Vp.# ] [PRT <RP>:compound:prt ] Object.~:obj
Pred.# 1 : [VP Vp.# ] Noun.~:obj [PRT <RP>:compound:prt ]

Subject.# 4 : Noun.#
Subject.# 1 : Noun.# ( [PP of_IN:case ] Noun.~ ):nmod
Subject.# 1 : Noun.# Relative.#:acl:relcl
Subject.s 4 : [NP <DT.s>:det <NN.who> ]
Subject.s 2 : [NP <DT.s>:det <JJ>:amod <NN.who> ]
Subject.s 3 : [NP <PRP.subj> ]
Subject.s 2 : [NP <NNP> ]
Subject.p 3 : [NP <DT.p>:det <NNS.who> ]
Subject.p 2 : [NP <NNS.who> ]
Subject.p 2 : [NP <PRP.subjp> ]
Object.# 8 : Noun.#
Object.# 1 : [NP <PRP.obj> ]
Object.# 1 : Noun.# Relative.#:acl:relcl
Object.# 1 : Noun.# ( [PP <IN.of>:case ] Noun.~ ):nmod
Thing.# 1 : Noun.#
Person 2 : [NP <NNP> ]
Person 2 : [NP <PRP.obj> ]
Person 2 : [NP <DT.s>:det <NN.who> ]
Agent 2 : [PP by_IN:case ] Person
Agent 1 : Where
Relative.# 2 : [NP that_WDT:nsubj ] [VP Vt.# ] Noun.~:obj
Relative.# 1 : [NP that_WDT:nsubj ] [VP Vi.# ] Where:obl

Noun.s 6 : [NP <DT.s>:det <NN> ]
Noun.s 4 : [NP <DT.s>:det <JJ>:amod <NN> ]
Noun.s 2 : [NP <DT.s>:det <NN.mod>:compound <NN> ]
Noun.s 1 : [NP <DT.s>:det ( <RB.deg>:advmod <JJ> ):amod <NN> ]
Noun.s 1 : [NP <DT.s>:det <VBG.t>:amod <NN> ]
Noun.s 1 : [NP <DT.s>:det <VBN.t>:amod <NN> ]
Noun.s 3 : [NP <NNP> ]
Noun.s 1 : [NP <NNP> <NNP.last>:flat ]
Noun.s 2 : [NP <PRP$>:nmod:poss <NN> ]
Noun.s 1 : ( [NP <DT.s>:det <NN.who> ] [NP 's_POS:case ):nmod:poss <NN> ]
Noun.s 1 : ( [NP <NNP> ] [NP 's_POS:case ):nmod:poss <JJ>:amod <NN> ]
Noun.p 4 : [NP <NNS> ]
Noun.p 4 : [NP <DT.p>:det <NNS> ]
Noun.p 2 : [NP <JJ>:amod <NNS> ]
Noun.p 2 : [NP <CD>:nummod <NNS> ]
Noun.p 1 : [NP <NN.mod>:compound <NNS> ]
Noun.p 1 : [NP <DT.p>:det ( <JJ> ( and_CC:cc <JJ> ):conj ):amod <NNS> ]
Noun.p 1 : [NP <NNS> ( and_CC:cc <NNS> ):conj ]
Noun.p 1 : [NP <NNP> ( and_CC:cc <NNP> ):conj ]
Noun.p 1 : [NP <DT.s>:det <NN> ] ( and_CC:cc [NP <DT.s>:det <NN> ] ):conj
Noun.p 1 : [NP <PRP$>:nmod:poss <NNS> ]

Where 5 : [PP <IN>:case ] Noun.~
Where 1 : [PP <IN>:case ] Noun.~ ( [PP <IN>:case ] Noun.~ ):nmod
Where 1 : [PP to_TO:case ] Noun.~
Where 1 : [PP <IN.time>:case ] [NP <NN.time> ]
Where 1 : [NP <DT.day>:det <NN.time> ]

Vt.s 2 : <VBD.t>
Vt.s 1 : <VBZ.t>
Vt.p 2 : <VBD.t>
Vt.p 1 : <VBP.t>
Vi.s 2 : <VBD.i>
Vi.s 1 : <VBZ.i>
Vi.p 2 : <VBD.i>
Vi.p 1 : <VBP.i>
Vd.# 1 : <VBD.d>
Vw.s 1 : <VBZ.w>
Vw.s 1 : <VBD.w>
Vw.p 1 : <VBP.w>
Vw.p 1 : <VBD.w>
Vs.# 1 : <VBD.s>
Vp.s 1 : <VBZ.p>
Vp.# 1 : <VBD.p>
Vp.p 1 : <VBP.p>
Was.s 2 : was_VBD
Was.s 2 : is_VBZ
Was.s 1 : 's_VBZ
Was.p 2 : were_VBD
Was.p 2 : are_VBP
Have.s 1 : has_VBZ
Have.s 1 : had_VBD
Have.p 1 : have_VBP
Have.p 1 : had_VBD
Do.s 1 : does_VBZ
Do.s 1 : did_VBD
Do.p 1 : do_VBP
Do.p 1 : did_VBD
"""

# After the bar: words that only the test part may use. "+" doubles the last letter (plan, planned).
TOPICS = {
    "kitchen": {
        "noun": "cook soup plate pan bread oven knife dish spoon oil cake order menu guest salt table "
        "| ladle broth skillet pastry",
        "who": "cook waiter guest | baker",
        "verb": "cook serve taste salt oil bake order wash stir+ slice warm | season simmer chop+",
        "adj": "hot sweet fresh warm clean cold salty | crisp bitter",
    },
    "harbour": {
        "noun": "boat ship anchor sail rope deck port net fish wave crane dock storm crew light box "
        "| mast buoy trawler hull",
        "who": "sailor captain guard pilot | skipper",
        "verb": "anchor sail load tow dock fish guard watch repair land empty | moor hoist",
        "adj": "rough calm deep wet heavy empty dark | murky rusty",
    },
    "workshop": {
        "noun": "hammer nail board bench drill file paint tool box door frame plan lamp engine saw light "
        "| chisel lathe plank rivet",
        "who": "carpenter painter smith guard | welder",
        "verb": "hammer nail drill file paint measure repair plan+ frame box clean | solder varnish",
        "adj": "sharp flat iron wooden loose square clean light | blunt brittle",
    },
    "garden": {
        "noun": "plant flower tree seed hedge bird rose path fence rake wall bench bee apple water pot "
        "| tulip trowel thistle sparrow",
        "who": "gardener neighbour painter | florist",
        "verb": "plant water rake pick trim+ fence clear dry cover pot+ | prune weed",
        "adj": "green dry tall wild cool bright empty | lush thorny",
    },
    "school": {
        "noun": "book answer question test class letter map story desk bell report record essay lesson "
        "mark plan | quiz pamphlet syllable parable",
        "who": "teacher pupil cook guard | tutor",
        "verb": "answer question test study record report book mark copy plan+ open | recite correct",
        "adj": "long short clear hard young quiet open | tedious lucid",
    },
    "street": {
        "noun": "train bus station ticket market park shop bridge walk corner stop guide call sign visit "
        "square | tram kiosk viaduct alley",
        "who": "driver guide guard visitor | commuter",
        "verb": "park guide sign visit cross ticket call stop+ follow | patrol+ reroute",
        "adj": "busy narrow new loud old open free | crooked gloomy",
    },
}

ANY_TOPIC = {
    "noun": "house window child man woman dog garden kitchen work friend rest watch hand light cold",
    "who": "man woman child friend doctor | nurse",
    "verb": "help watch follow call move push pull carry like need want touch | nudge inspect",
    "adj": "old new small large good bad late cold light | drab sturdy",
}

# Frames other than transitive: i intransitive, d two objects, w with to, s with a clause, p with a particle.
VERBS = {
    "i": "work walk wait rest talk stop+ stay sail fish cook call land park laugh return | linger wander",
    "d": "hand offer show pass serve | lend=lent=lent",
    "w": "want plan+ try hope need agree start like | decide",
    "s": "hope claim report answer say=said=said think=thought=thought know=knew=known | notice",
    "p": "turn pick call carry clean clear cover wash move close | switch",
}

CLOSED = {
    "DT.s": "the the the the a a a this that every",
    "DT.p": "the the the these those some all",
    "DT.day": "that this every",
    "NN.time": "morning evening afternoon day week night",
    "IN": "in on near under behind beside with before after over up down off past at",
    "IN.of": "of with for from",
    "IN.for": "for with about",
    "IN.time": "before after during in",
    "IN.sub": "before after because while if since until as",
    "RP": "up off down over away out",
    "CC.clause": "and but",
    "MD": "will can must may should would",
    "MD.o": "Can Will Should Must",
    "PRP.subj": "he she it",
    "PRP.subjp": "they we",
    "PRP.obj": "him her it them us",
    "PRP$": "his her their its our",
    "CD": "two three four five ten twelve",
    "RB.deg": "very rather quite too",
    "RB.adv": "never often already always still just",
    "RB.manner": "slowly quickly quietly well early late hard | gently warily",
    "RB.time": "later then now today yesterday soon",
    "NNP": "Anna Peter Maria Tom Clara Hugo Rose Mark Nina Victor Grace Paul | Edith Oskar Tilda Bruno",
    "NNP.last": "Baker Miller Park Fisher Stone Hall | Whitlock Farrow",
}

UNIVERSAL = {
    "DT": "DET", "PRP$": "PRON", "PRP": "PRON", "WDT": "PRON", "EX": "PRON", "IN": "ADP", "TO": "PART", "RP": "ADP",
    "POS": "PART", "CC": "CCONJ", "CD": "NUM", "MD": "AUX", "UH": "INTJ", "NNP": "PROPN", "NN": "NOUN", "NNS": "NOUN",
    "JJ": "ADJ", "RB": "ADV", ",": "PUNCT", ".": "PUNCT",
}  # fmt: skip
"""Universal parts of speech of Penn's; those of verbs are VERB."""

# What an imperfect tagger takes a part of speech for.
MISTAKEN = {
    "NN": "VB",
    "NNS": "VBZ",
    "NNP": "NN",
    "VB": "NN",
    "VBP": "NN",
    "VBZ": "NNS",
    "VBD": "VBN",
    "VBN": "VBD",
    "VBG": "NN",
    "JJ": "NN",
    "RB": "JJ",
    "RP": "IN",
    "WDT": "IN",
    "POS": "VBZ",
}
