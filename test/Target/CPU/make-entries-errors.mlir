// RUN: fa-opt %s -cpu-make-entries -split-input-file -verify-diagnostics

// expected-error @+1 {{kernel @f has no argument 256, which tile.sizes names: expected 0 to 0}}
func.func @f(%x: memref<?x8xf32>, %b: index, %t: index, %scratch: memref<?xi8>)
    attributes {tile.grid = affine_map<()[s0] -> (s0, s0 ceildiv 4)>, tile.sizes = array<i64: 256, 0>} {
  return
}

// -----

// expected-error @+1 {{kernel @f has no dimension 2 in argument 0 of type 'memref<?x8xf32>', which tile.sizes names}}
func.func @f(%x: memref<?x8xf32>, %b: index, %t: index, %scratch: memref<?xi8>)
    attributes {tile.grid = affine_map<()[s0] -> (s0, s0 ceildiv 4)>, tile.sizes = array<i64: 0, 2>} {
  return
}

// -----

// expected-error @+1 {{kernel @f has no dimension -1 in argument 0}}
func.func @f(%x: memref<?x8xf32>, %b: index, %t: index, %scratch: memref<?xi8>)
    attributes {tile.grid = affine_map<()[s0] -> (s0, s0 ceildiv 4)>, tile.sizes = array<i64: 0, -1>} {
  return
}

// -----

// expected-error @+1 {{kernel @f needs tile.grid, an affine map of symbols, and tile.sizes, an array<i64> of an argument and a dimension per symbol, got}}
func.func @f(%x: memref<?x8xf32>, %b: index, %t: index, %scratch: memref<?xi8>)
    attributes {tile.grid = affine_map<()[s0] -> (s0, s0 ceildiv 4)>, tile.sizes = array<i64: 0>} {
  return
}

// -----

// expected-error @+1 {{kernel @f takes 1 arguments, expected the 2 numbers of a work tile and scratch memory last}}
func.func @f(%x: memref<?x8xf32>)
    attributes {tile.grid = affine_map<()[s0] -> (s0, s0 ceildiv 4)>, tile.sizes = array<i64: 0, 0>} {
  return
}

// -----

// expected-error @+1 {{kernel @f takes numbers of a work tile as index, got 'i32'}}
func.func @f(%x: memref<?x8xf32>, %b: i32, %scratch: memref<?xi8>)
    attributes {tile.grid = affine_map<()[s0] -> (s0)>, tile.sizes = array<i64: 0, 0>} {
  return
}

// -----

// expected-error @+1 {{kernel @f must have a body and return nothing}}
func.func private @f(memref<?x8xf32>, index, memref<?xi8>)
    attributes {tile.grid = affine_map<()[s0] -> (s0)>, tile.sizes = array<i64: 0, 0>}

// -----

// expected-error @+1 {{kernel @f gets an entry @f_run, whose name is taken; rename one of the functions}}
func.func @f(%x: memref<?x8xf32>, %b: index, %scratch: memref<?xi8>)
    attributes {tile.grid = affine_map<()[s0] -> (s0)>, tile.sizes = array<i64: 0, 0>} {
  return
}
// expected-note @+1 {{it is taken here}}
func.func @f_run() {
  return
}
