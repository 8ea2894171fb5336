"""STUB to be replaced."""
from __future__ import annotations
from dataclasses import replace
import numpy as np
from .. import inputs
from .reader import Batch
from .labels import Numbers, Texts, labels_of
def memory_size(m): return 1<<30
def row_hashes(seed, numbers):
    key = np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    x = numbers.astype(np.uint64) ^ key
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))
def concatenated(bs):
    if len(bs)==1: return bs[0]
    a=bs[0].data
    if isinstance(a,inputs.Dense): data=inputs.Dense(np.concatenate([b.data.array for b in bs]))
    elif isinstance(a,inputs.NamedRows): data=inputs.NamedRows([r for b in bs for r in b.data.mappings])
    elif isinstance(a,inputs.Frame):
        cols=[]
        for j in range(len(a.names)):
            cs=[b.data.columns[j] for b in bs]
            if isinstance(cs[0],inputs.TextColumn):
                codes=[];ends=[0];text=[];k=0
                for c in cs:
                    codes.append(np.where(c.codes>=0,c.codes+k,-1).astype(np.int32)); k+=len(c.ends)-1
                    base=ends[-1]; text.append(c.text[:c.ends[-1]]); ends+= (c.ends[1:]+base).tolist()
                cols.append(inputs.TextColumn(np.concatenate(codes),np.array(ends,np.int64),np.concatenate(text)))
            elif isinstance(cs[0],inputs.FlagColumn): cols.append(inputs.FlagColumn(np.concatenate([c.numbers for c in cs])))
            else: cols.append(np.concatenate(cs))
        data=inputs.Frame(a.names,cols,sum(b.rows for b in bs),any(b.data.missing for b in bs),all(b.data.whole for b in bs))
    else: raise NotImplementedError
    if isinstance(bs[0].labels,Numbers): lab=Numbers(np.concatenate([b.labels.values for b in bs]))
    else:
        lab=labels_of([b.labels.values[c] if c>=0 else None for b in bs for c in b.labels.codes])
    w=None if bs[0].weight is None else np.concatenate([b.weight for b in bs])
    return replace(bs[0],data=data,rows=sum(b.rows for b in bs),labels=lab,weight=w,place=replace(bs[0].place,numbers=np.arange(sum(b.rows for b in bs))))
def picked(b,rows):
    d=inputs.NamedRows([b.data.mappings[i] for i in rows]) if isinstance(b.data,inputs.NamedRows) else inputs.pick(b.data,rows)
    return replace(b,data=d,rows=len(rows),labels=b.labels.take(rows),weight=None if b.weight is None else b.weight[rows],place=replace(b.place,numbers=rows if b.place.numbers is None else b.place.numbers[rows]))
class Shuffle:
    how="in memory"
    def __init__(self,seed,memory): self.seed=seed; self.parts=[]
    def __enter__(self): return self
    def __exit__(self,*a): pass
    def add(self,b):
        if b.rows: self.parts.append(b)
    def seal(self):
        self.all=concatenated(self.parts); self.order=np.argsort(row_hashes(self.seed,np.arange(self.all.rows)),kind="stable")
    @property
    def rows(self): return sum(b.rows for b in self.parts)
    def numbers(self,first,last=None): return self.order[first:last]
    def batches(self,first=0,last=None):
        o=self.order[first:last]
        for k in range(0,len(o),16384): yield picked(self.all,o[k:k+16384])
