from epigram.outofcore.dask import DaskEngine as DaskEngine
from epigram.outofcore.dask import connect as connect
from epigram.outofcore.dataset import Manifest as Manifest
from epigram.outofcore.engine import Engine as Engine
from epigram.outofcore.engine import Here as Here
from epigram.outofcore.sharded import ShardedLoss as ShardedLoss
