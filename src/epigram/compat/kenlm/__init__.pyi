from epigram.compat.kenlm.api import Config as Config
from epigram.compat.kenlm.api import FullScoreReturn as FullScoreReturn
from epigram.compat.kenlm.api import LanguageModel as LanguageModel
from epigram.compat.kenlm.api import LoadMethod as LoadMethod
from epigram.compat.kenlm.api import Model as Model
from epigram.compat.kenlm.api import State as State
from epigram.compat.kenlm.api import replace_original as replace_original
