from epigram.pipeline.document import Doc as Doc
from epigram.pipeline.document import Sentence as Sentence
from epigram.pipeline.document import SyntacticWord as SyntacticWord
from epigram.pipeline.document import Token as Token
from epigram.pipeline.evaluate import evaluate_analysis as evaluate_analysis
from epigram.pipeline.pipeline import Pipeline as Pipeline
