// RUN: fa-opt %s --split-input-file --verify-diagnostics
func.func @attention_c1_starts(%q: tensor<1x8x?x64xf16>, %cu: tensor<?xi32>) {
  // expected-error @+1 {{(attention_c1) query must have rank 3 (heads x tokens x head dim), for it has starts, got 'tensor<1x8x?x64xf16>'}}
  fa.attention query(%q) key(%q) value(%q) sequences(query_starts(%cu))
    : (tensor<1x8x?x64xf16>, tensor<1x8x?x64xf16>, tensor<1x8x?x64xf16>, tensor<?xi32>) -> tensor<1x8x?x64xf16>
  return
}

// -----

func.func @attention_c7_starts(%q: tensor<8x?x64xf16>, %cu: tensor<?xi32>) {
  // expected-error @+1 {{(attention_c7) lse must be 'tensor<8x?xf32>', got 'tensor<1x8x?xf32>'}}
  fa.attention query(%q) key(%q) value(%q) sequences(query_starts(%cu) key_starts(%cu))
    : (tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<?xi32>, tensor<?xi32>)
      -> (tensor<8x?x64xf16>, tensor<1x8x?xf32>)
  return
}

// -----

func.func @attention_c17_floats(%q: tensor<8x?x64xf16>, %cu: tensor<?xf32>) {
  // expected-error @+1 {{(attention_c17) query_starts must be a tensor of rank 1 of B + 1 integers, such as tensor<?xi32>, got 'tensor<?xf32>'}}
  fa.attention query(%q) key(%q) value(%q) sequences(query_starts(%cu) key_starts(%cu))
    : (tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<?xf32>, tensor<?xf32>) -> tensor<8x?x64xf16>
  return
}

// -----

func.func @attention_c17_rank(%q: tensor<2x8x?x64xf16>, %n: tensor<2x1xi32>) {
  // expected-error @+1 {{(attention_c17) key_lengths must be a tensor of rank 1 of B integers, such as tensor<?xi32>, got 'tensor<2x1xi32>'}}
  fa.attention query(%q) key(%q) value(%q) sequences(key_lengths(%n))
    : (tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x8x?x64xf16>, tensor<2x1xi32>) -> tensor<2x8x?x64xf16>
  return
}

// -----

func.func @attention_c17_none(%q: tensor<8x?x64xf16>, %cu: tensor<0xi32>) {
  // expected-error @+1 {{(attention_c17) query_starts must have B + 1 elements, where the sequences begin and the last one ends, got 'tensor<0xi32>'}}
  fa.attention query(%q) key(%q) value(%q) sequences(query_starts(%cu) key_starts(%cu))
    : (tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<0xi32>, tensor<0xi32>) -> tensor<8x?x64xf16>
  return
}

// -----

func.func @attention_c17_count(%q: tensor<8x?x64xf16>, %cu: tensor<4xi32>, %n: tensor<4xi32>) {
  // expected-error @+1 {{(attention_c17) there are 3 sequences and 4 lengths: expected a length for each}}
  fa.attention query(%q) key(%q) value(%q) sequences(query_starts(%cu) key_starts(%cu) key_lengths(%n))
    : (tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
      -> tensor<8x?x64xf16>
  return
}

// -----

func.func @attention_c5_starts(%q: tensor<8x?x64xf16>, %k: tensor<4x8x?x64xf16>, %cu: tensor<4xi32>) {
  // expected-error @+1 {{(attention_c5) batch sizes must agree}}
  fa.attention query(%q) key(%k) value(%k) sequences(query_starts(%cu))
    : (tensor<8x?x64xf16>, tensor<4x8x?x64xf16>, tensor<4x8x?x64xf16>, tensor<4xi32>) -> tensor<8x?x64xf16>
  return
}

// -----

func.func @attention_c17_part(%q: tensor<8x?x64xf16>, %cu: tensor<?xi32>) {
  // expected-error @+1 {{(attention_c17) sequences has 'starts': expected each of query_starts, key_starts, query_lengths, key_lengths once at most, such as query_starts(%cu)}}
  fa.attention query(%q) key(%q) value(%q) sequences(starts(%cu))
    : (tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<?xi32>) -> tensor<8x?x64xf16>
  return
}

// -----

func.func @attention_c17_twice(%q: tensor<8x?x64xf16>, %cu: tensor<?xi32>) {
  // expected-error @+1 {{(attention_c17) sequences has 'query_starts' twice: expected each of}}
  fa.attention query(%q) key(%q) value(%q) sequences(query_starts(%cu) query_starts(%cu))
    : (tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<?xi32>) -> tensor<8x?x64xf16>
  return
}

// -----

func.func @attention_c17_empty(%q: tensor<8x?x64xf16>) {
  // expected-error @+1 {{(attention_c17) sequences names nothing; leave it out, or write sequences(query_starts(%cu_q) key_starts(%cu_k))}}
  fa.attention query(%q) key(%q) value(%q) sequences()
    : (tensor<8x?x64xf16>, tensor<8x?x64xf16>, tensor<8x?x64xf16>) -> tensor<8x?x64xf16>
  return
}
