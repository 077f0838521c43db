
ByJâx