from epigram.scale.dask import DaskEngine as DaskEngine
from epigram.scale.dask import connect as connect
from epigram.scale.engine import Engine as Engine
from epigram.scale.engine import Here as Here
from epigram.scale.folder import Manifest as Manifest
from epigram.scale.sharded import ShardedLoss as ShardedLoss
