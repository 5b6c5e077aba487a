// Tiles that are written on an entry were not checked: some ended the program, gave zeros, or never ended.
// RUN: fa-opt %s -split-input-file -verify-diagnostics -fa-rewrite-online-softmax -fa-tile-attention

// expected-error @+1 {{fa.tiles of entry @f has pad = 0 : i64, expected an i64 from 1 to 256}}
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) attributes {fa.tiles = {rows = 64 : i64, keys = 64 : i64, warps = 4 : i64, pad = 0 : i64}} {
  %o = fa.attention query(%q) key(%k) value(%v) : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// expected-error @+1 {{fa.tiles of entry @f has keys = -8 : i64, expected an i64 from 8 to 1024, a multiple of 8}}
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) attributes {fa.tiles = {rows = 64 : i64, keys = -8 : i64}} {
  %o = fa.attention query(%q) key(%k) value(%v) : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// expected-error @+1 {{fa.tiles of entry @f has rows = 100000 : i64, expected an i64 from 8 to 1024, a multiple of 8}}
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) attributes {fa.tiles = {rows = 100000 : i64}} {
  %o = fa.attention query(%q) key(%k) value(%v) : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// expected-error @+1 {{fa.tiles of entry @f has rows = 64 : i32, expected an i64}}
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) attributes {fa.tiles = {rows = 64 : i32}} {
  %o = fa.attention query(%q) key(%k) value(%v) : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// expected-error @+1 {{fa.tiles of entry @f has warps = 33 : i64, expected an i64 from 1 to 32}}
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) attributes {fa.tiles = {warps = 33 : i64}} {
  %o = fa.attention query(%q) key(%k) value(%v) : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// expected-error @+1 {{fa.tiles of entry @f has band_keys = 12 : i64, expected an i64 from 8}}
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) attributes {fa.tiles = {band_keys = 12 : i64}} {
  %o = fa.attention query(%q) key(%k) value(%v) : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// expected-error @+1 {{fa.tiles of entry @f has sums = 96 : i64, expected an i64 from 64 to 256, a multiple of 64}}
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) attributes {fa.tiles = {sums = 96 : i64}} {
  %o = fa.attention query(%q) key(%k) value(%v) : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// expected-error @+1 {{fa.tiles of entry @f has no "row": expected rows, keys, band_keys, band_below, warps, beside, roles, blocks, pad, sums or holes}}
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) attributes {fa.tiles = {row = 64 : i64}} {
  %o = fa.attention query(%q) key(%k) value(%v) : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// expected-error @+1 {{fa.tiles of entry @f must be a dictionary of rows, keys, warps and pad, got 64 : i64}}
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
    %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) attributes {fa.tiles = 64 : i64} {
  %o = fa.attention query(%q) key(%k) value(%v) : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
