// Copies of elements: no call of a library. The places are the same, or don't overlap.
  llvm.func internal @tcc.copy.i8(%to: !llvm.ptr, %from: !llvm.ptr {llvm.readonly}, %count: i64) attributes {no_inline} {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^head(%zero : i64)
  ^head(%at: i64):
    %more = llvm.icmp "slt" %at, %count : i64
    llvm.cond_br %more, ^body, ^done
  ^body:
    %source = llvm.getelementptr inbounds %from[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %element = llvm.load %source {alignment = 1 : i64} : !llvm.ptr -> i8
    %place = llvm.getelementptr inbounds %to[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    llvm.store %element, %place {alignment = 1 : i64} : i8, !llvm.ptr
    %next = llvm.add %at, %one : i64
    llvm.br ^head(%next : i64)
  ^done:
    llvm.return
  }
  llvm.func internal @tcc.copy.i16(%to: !llvm.ptr, %from: !llvm.ptr {llvm.readonly}, %count: i64) attributes {no_inline} {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^head(%zero : i64)
  ^head(%at: i64):
    %more = llvm.icmp "slt" %at, %count : i64
    llvm.cond_br %more, ^body, ^done
  ^body:
    %source = llvm.getelementptr inbounds %from[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i16
    %element = llvm.load %source {alignment = 2 : i64} : !llvm.ptr -> i16
    %place = llvm.getelementptr inbounds %to[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i16
    llvm.store %element, %place {alignment = 2 : i64} : i16, !llvm.ptr
    %next = llvm.add %at, %one : i64
    llvm.br ^head(%next : i64)
  ^done:
    llvm.return
  }
  llvm.func internal @tcc.copy.i32(%to: !llvm.ptr, %from: !llvm.ptr {llvm.readonly}, %count: i64) attributes {no_inline} {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^head(%zero : i64)
  ^head(%at: i64):
    %more = llvm.icmp "slt" %at, %count : i64
    llvm.cond_br %more, ^body, ^done
  ^body:
    %source = llvm.getelementptr inbounds %from[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %element = llvm.load %source {alignment = 4 : i64} : !llvm.ptr -> i32
    %place = llvm.getelementptr inbounds %to[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    llvm.store %element, %place {alignment = 4 : i64} : i32, !llvm.ptr
    %next = llvm.add %at, %one : i64
    llvm.br ^head(%next : i64)
  ^done:
    llvm.return
  }
  llvm.func internal @tcc.copy.i64(%to: !llvm.ptr, %from: !llvm.ptr {llvm.readonly}, %count: i64) attributes {no_inline} {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^head(%zero : i64)
  ^head(%at: i64):
    %more = llvm.icmp "slt" %at, %count : i64
    llvm.cond_br %more, ^body, ^done
  ^body:
    %source = llvm.getelementptr inbounds %from[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %element = llvm.load %source {alignment = 8 : i64} : !llvm.ptr -> i64
    %place = llvm.getelementptr inbounds %to[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    llvm.store %element, %place {alignment = 8 : i64} : i64, !llvm.ptr
    %next = llvm.add %at, %one : i64
    llvm.br ^head(%next : i64)
  ^done:
    llvm.return
  }
