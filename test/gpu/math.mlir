// A kernel for each entry of MathFunctions.h, which prints this file (see
// test/unit/NVPTXMathTests.cpp).
// RUN: fa-opt %s --target=sm_80 --compile-from=schedule --emit=ptx -o %t.ptx
gpu.module @math {
llvm.func @math0(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.exp %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math1(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.exp2 %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math2(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.expm1 %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math3(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.expm1 %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math4(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.log %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math5(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.log %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math6(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.log2 %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math7(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.log2 %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math8(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.log10 %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math9(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.log1p %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math10(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.log1p %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math11(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.tanh %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math12(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.tanh %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math13(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.sinh %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math14(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.sinh %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math15(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.cosh %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math16(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.cosh %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math17(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.sin %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math18(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.sin %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math19(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.cos %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math20(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.cos %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math21(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.tan %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math22(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.asin %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math23(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.acos %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math24(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.atan %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math25(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.asinh %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math26(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.asinh %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math27(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.acosh %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math28(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.atanh %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math29(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.erf %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math30(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.erfc %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math31(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.sqrt %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math32(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.rsqrt %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math33(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.cbrt %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math34(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.absf %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math35(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.floor %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math36(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.ceil %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math37(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.round %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math38(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.roundeven %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math39(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.trunc %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math40(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.powf %x, %y : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math41(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.powf %x, %y : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math42(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %n = arith.fptosi %y : f32 to i32
    %z = math.fpowi %x, %n : f32, i32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math43(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %n = arith.fptosi %y : f32 to i32
    %z = math.fpowi %x, %n : f32, i32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math44(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.atan2 %x, %y : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math45(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.copysign %x, %y : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math46(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.fma %x, %y, %x : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math47(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.clampf %x to [%y, %three] : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math48(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.exp %x fastmath<afn> : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math49(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.log %x fastmath<afn> : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math50(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.log2 %x fastmath<afn> : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math51(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.log10 %x fastmath<afn> : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math52(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.tanh %x fastmath<afn> : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math53(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.sin %x fastmath<afn> : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math54(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.cos %x fastmath<afn> : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math55(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.rsqrt %x fastmath<afn> : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math56(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.sqrt %x fastmath<afn> : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math57(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.tanh %x {tile.absolute_error} : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
llvm.func @math58(%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
    %z = math.tanh %x {tile.absolute_error} : f32
    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
}
