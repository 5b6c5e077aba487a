//===- ModuleText.cpp - modules out of MLIR text -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/ModuleText.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <utility>

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Nesting
//===----------------------------------------------------------------------===//

namespace {

/// The brackets that are open, and in each the operators since the last comma: MLIR's parser of
/// affine expressions goes a level deeper with each. What does not match is the parser's to report:
/// the count only has to be near.
class Nesting {
public:
  unsigned getDepth() const { return levels.size() + operators; }
  bool hasOperators() const { return operators > 0; }
  void open(size_t kind) { levels.push_back({kind}); }
  void close(size_t kind) {
    for (size_t i = levels.size(); i-- > 0;)
      if (levels[i].kind == kind) {
        operators -= levels[i].operators;
        levels.erase(levels.begin() + i);
        return;
      }
  }
  void separate() {
    if (!levels.empty())
      operators -= std::exchange(levels.back().operators, 0);
  }
  void addOperator() {
    // Braces hold no expressions: what is in them has its own.
    if (levels.empty() || levels.back().kind == kBrace)
      return;
    ++levels.back().operators;
    ++operators;
  }

  static constexpr llvm::StringLiteral kOpening = "([{<", kClosing = ")]}>";

private:
  static constexpr size_t kBrace = 2;
  struct Level {
    size_t kind;
    unsigned operators = 0;
  };
  llvm::SmallVector<Level> levels;
  unsigned operators = 0;
};

} // namespace

static bool isOfWord(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Counts what nests, outside of strings and comments.
LogicalResult fa::checkNesting(StringRef text, StringRef name, MLIRContext *context) {
  if (text.starts_with("ML\xefR"))
    return emitError(FileLineColLoc::get(context, name, 1, 1))
           << "this is MLIR's bytecode, which is not read here; give text (mlir-opt writes it)";
  Nesting nesting;
  unsigned line = 1;
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
    } else if (size_t kind = Nesting::kOpening.find(c); kind != StringRef::npos) {
      nesting.open(kind);
    } else if (size_t kind = Nesting::kClosing.find(c); kind != StringRef::npos) {
      nesting.close(kind);
    } else if (c == ',') {
      nesting.separate();
    } else if (StringRef("+-*").contains(c)) {
      nesting.addOperator();
    } else if (isOfWord(c)) {
      StringRef word = text.substr(i).take_while(isOfWord);
      if (word == "floordiv" || word == "ceildiv" || word == "mod")
        nesting.addOperator();
      i += word.size() - 1;
    }
    if (nesting.getDepth() > kMaxNesting)
      return emitError(FileLineColLoc::get(context, name, line, i - lineBegin + 1))
             << "the text nests more than " << kMaxNesting
             << (nesting.hasOperators() ? " brackets and operators" : " brackets")
             << " deep; write it with fewer levels";
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
