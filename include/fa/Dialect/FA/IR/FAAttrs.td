//===- FAAttrs.td - attributes of the fa dialect ------------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FAATTRS_TD
#define FA_DIALECT_FA_IR_FAATTRS_TD

include "fa/Dialect/FA/IR/FADialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

def FA_Axis : I32EnumAttr<"Axis", "an index of attention", [
    I32EnumAttrCase<"b", 0>, I32EnumAttrCase<"h", 1>, I32EnumAttrCase<"hk", 2>,
    I32EnumAttrCase<"rows", 3>, I32EnumAttrCase<"keys", 4>, I32EnumAttrCase<"one", 5>]> {
  let description = [{
    Names the indices that blocks, tiles and sums run over: the batch, the query
    head, the key head, query rows and keys. A tensor may have dimensions beside
    those, of size one.
  }];
  let cppNamespace = "::mlir::fa";
  let genSpecializedAttr = 0;
}
def FA_AxisAttr : EnumAttr<FA_Dialect, FA_Axis, "axis"> {
  let assemblyFormat = "$value";
}

class FA_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<FA_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def FA_AxesAttr : FA_Attr<"Axes", "axes", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "what the unknown sizes of a tile stand for";
  let description = [{
    The encoding of a tile whose sizes are not chosen: for each `?` of its type, in
    order, the axis whose block it is. `fa-tile-attention` chooses the sizes and drops it.

    Example:

    ```mlir
    tensor<?x64xf32, #fa.axes<keys>>
    tensor<?x?xf32, #fa.axes<rows, keys>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"Axis">:$axes);
  let assemblyFormat = "`<` $axes `>`";
}

def FA_SumAttr : FA_Attr<"Sum", "sum"> {
  let summary = "one output of fa.pairwise";
  let description = [{
    The sum of weight number `weight` over all indices that are not in `axes`, the
    indices of the output, times `factor`. With `times`, each weight is multiplied by
    a vector, which the output has as its last dimension: number `times` of the column
    operands where the axes are those of a row (b, h, rows), of the row operands where
    they are those of a key (b, hk, keys).

    `as C at [n, ...]` is a scatter: the output has the shape of capture number C, and the weight
    of a pair is added to the element whose indices are the numbers n, ... of what the
    weights region yields for the pair, if they are in range.

    Example:

    ```mlir
    #fa.sum<1 [b, h, rows] times 0 factor 1.250000e-01 : f64>
    #fa.sum<2 [h]>
    #fa.sum<2 as 0 at [3, 4]>
    ```
  }];
  let parameters = (ins "int64_t":$weight, OptionalArrayRefParameter<"Axis">:$axes,
    DefaultValuedParameter<"int64_t", "-1">:$times, OptionalParameter<"FloatAttr">:$factor,
    DefaultValuedParameter<"int64_t", "-1">:$capture, OptionalArrayRefParameter<"int64_t">:$positions);
  let assemblyFormat = [{
    `<` $weight (`[` $axes^ `]`)? (`times` $times^)? (`factor` $factor^)?
    (`as` $capture^ `at` `[` $positions `]`)? `>`
  }];
  let builders = [
    // A sum at axes.
    AttrBuilder<(ins "int64_t":$weight, "ArrayRef<Axis>":$axes, CArg<"int64_t", "-1">:$times,
        CArg<"FloatAttr", "{}">:$factor), [{
      return $_get($_ctxt, weight, axes, times, factor, -1, ArrayRef<int64_t>());
    }]>
  ];
  let extraClassDeclaration = [{
    /// Return whether weights are added where the weights region says.
    bool isScatter() const { return getCapture() >= 0; }
    /// Return whether the weights are multiplied by vectors.
    bool isProduct() const { return getTimes() >= 0; }
    bool has(Axis axis) const { return ::llvm::is_contained(getAxes(), axis); }
    /// Return the axes of more than one index.
    SmallVector<Axis> getIndices() const {
      SmallVector<Axis> indices(getAxes());
      ::llvm::erase(indices, Axis::one);
      return indices;
    }
    double getFactorValue() const { return getFactor() ? getFactor().getValueAsDouble() : 1.0; }
  }];
}

#endif // FA_DIALECT_FA_IR_FAATTRS_TD
