from epigram.tagging.corpus import Columns as Columns
from epigram.tagging.crf import CRFTagger as CRFTagger
from epigram.tagging.formats import read_columns as read_columns
from epigram.tagging.history import MaxentTagger as MaxentTagger
from epigram.tagging.maxent import MaxentClassifier as MaxentClassifier
from epigram.tagging.metrics import evaluate as evaluate
from epigram.tagging.segment import SegmentTagger as SegmentTagger
from epigram.tagging.template import Template as Template
