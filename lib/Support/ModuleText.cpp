//===- ModuleText.cpp - modules out of MLIR text -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/ModuleText.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Nesting
//===----------------------------------------------------------------------===//

/// Counts brackets outside of strings and comments. What does not match is the
/// parser's to report: the count only has to be near.
LogicalResult fa::checkNesting(StringRef text, StringRef name, MLIRContext *context) {
  const StringRef opening = "([{<", closing = ")]}>";
  if (text.starts_with("ML\xefR"))
    return emitError(FileLineColLoc::get(context, name, 1, 1))
           << "this is MLIR's bytecode, which is not read here; give text (mlir-opt writes it)";
  unsigned open[4] = {}, line = 1;
  size_t lineBegin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    StringRef rest = text.substr(i + 1);
    if (c == '\n') {
      ++line;
      lineBegin = i + 1;
    } else if (c == '/' && rest.starts_with("/")) {
      i += rest.find('\n') == StringRef::npos ? rest.size() : rest.find('\n');
    } else if (c == '"') {
      // No string goes over the end of a line.
      while (i + 1 < text.size() && text[i + 1] != '"' && text[i + 1] != '\n')
        i += text[i + 1] == '\\' && i + 2 < text.size() && text[i + 2] != '\n' ? 2 : 1;
      i += i + 1 < text.size() && text[i + 1] == '"';
    } else if (bool compares = (c == '<' || c == '>') && rest.starts_with("=");
               compares || text.substr(i).starts_with("->")) {
      ++i;
    } else if (size_t kind = opening.find(c); kind != StringRef::npos) {
      ++open[kind];
      if (open[0] + open[1] + open[2] + open[3] > kMaxNesting)
        return emitError(FileLineColLoc::get(context, name, line, i - lineBegin + 1))
               << "the text nests more than " << kMaxNesting
               << " brackets deep; write it with fewer levels";
    } else if (size_t kind = closing.find(c); kind != StringRef::npos && open[kind] > 0) {
      --open[kind];
    }
  }
  return success();
}

OwningOpRef<ModuleOp> fa::parseModule(StringRef text, StringRef name, MLIRContext *context) {
  if (failed(checkNesting(text, name, context)))
    return nullptr;
  return parseSourceString<ModuleOp>(text, context, name);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static void print(llvm::raw_ostream &os, Location location, StringRef severity,
                  const Diagnostic &diagnostic) {
  auto place = location->findInstanceOf<FileLineColLoc>();
  if (place && place.getLine() == 0) { // about the options, or all of the text
    os << diagnostic << "\n";
    return;
  }
  if (place)
    os << place.getFilename().getValue() << ":" << place.getLine() << ":" << place.getColumn()
       << ": ";
  os << severity << ": " << diagnostic << "\n";
}

ErrorCollector::ErrorCollector(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return success();
        llvm::raw_string_ostream os(collected);
        print(os, diagnostic.getLocation(), "error", diagnostic);
        for (Diagnostic &note : diagnostic.getNotes())
          print(os, note.getLocation(), "note", note);
        return success();
      }) {}

std::string ErrorCollector::messages(StringRef otherwise) const {
  return collected.empty() ? otherwise.str() : StringRef(collected).rtrim('\n').str();
}
