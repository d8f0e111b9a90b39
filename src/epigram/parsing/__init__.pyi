from epigram.features.trees import Trees as Trees
from epigram.parsing.conllu import Treebank as Treebank
from epigram.parsing.conllu import read_treebank as read_treebank
from epigram.parsing.parser import DependencyParser as DependencyParser
from epigram.parsing.tagger import TreeTagger as TreeTagger
