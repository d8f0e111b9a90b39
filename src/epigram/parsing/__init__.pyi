from epigram.features.trees import Trees as Trees
from epigram.parsing.parser import DependencyParser as DependencyParser
from epigram.parsing.tree_tagger import TreeTagger as TreeTagger
from epigram.parsing.treebank import Treebank as Treebank
from epigram.parsing.treebank import read_treebank as read_treebank
