//===- Plot.cpp - the roofline of a machine, as a picture -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/Plot.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir::fa;

// Sizes of the picture, and of what is inside its axes.
static constexpr int kWidth = 720, kHeight = 460, kLeft = 80, kRight = 690, kTop = 50,
                     kBottom = 400;

/// Text as XML takes it: what is no plain character becomes a question mark.
static std::string escape(llvm::StringRef text) {
  std::string result;
  for (char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c >= ' ' && c <= '~' ? c : '?';
  }
  return result;
}

namespace {

/// A logarithmic axis of whole decades.
struct Axis {
  int low, high;
  double begin, end;

  Axis(double least, double most, int begin, int end)
      : low(static_cast<int>(std::floor(std::log10(least)))),
        high(static_cast<int>(std::ceil(std::log10(most)))), begin(begin), end(end) {
    high = std::max(high, low + 1);
  }
  double at(double value) const {
    return begin + (end - begin) * (std::log10(value) - low) / (high - low);
  }
};

class Picture {
public:
  Picture(const Roofline &roofline, Axis x, Axis y) : roofline(roofline), x(x), y(y), os(text) {}
  std::string draw();

private:
  void line(double x1, double y1, double x2, double y2, llvm::StringRef style) {
    os << llvm::format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" ", x1, y1, x2, y2)
       << style << "/>\n";
  }
  void words(double left, double base, const llvm::Twine &what, llvm::StringRef style = "") {
    os << llvm::format("<text x=\"%.1f\" y=\"%.1f\" ", left, base) << style << ">"
       << escape(what.str()) << "</text>\n";
  }
  void drawAxes();
  void drawRoof();
  void drawPoints();

  const Roofline &roofline;
  Axis x, y;
  std::string text;
  llvm::raw_string_ostream os;
};

} // namespace

static std::string power(int exponent) {
  if (exponent >= 0 && exponent <= 4)
    return std::to_string(static_cast<int>(std::lround(std::pow(10, exponent))));
  return "1e" + std::to_string(exponent);
}

void Picture::drawAxes() {
  constexpr llvm::StringLiteral grid = "stroke=\"#ddd\"", middle = "text-anchor=\"middle\"",
                                right = "text-anchor=\"end\"";
  for (int decade = x.low; decade <= x.high; ++decade) {
    double at = x.at(std::pow(10.0, decade));
    line(at, kTop, at, kBottom, grid);
    words(at, kBottom + 18, power(decade), middle);
  }
  for (int decade = y.low; decade <= y.high; ++decade) {
    double at = y.at(std::pow(10.0, decade));
    line(kLeft, at, kRight, at, grid);
    // In units of 1e12.
    words(kLeft - 8, at + 4, power(decade - 12), right);
  }
  words((kLeft + kRight) / 2.0, kBottom + 42, "FLOP a byte of inputs and outputs", middle);
  words(kLeft - 8, kTop - 12, "TFLOP/s", right);
}

void Picture::drawRoof() {
  constexpr llvm::StringLiteral style = "stroke=\"#333\" stroke-width=\"2\"";
  double ridge = roofline.peak / roofline.bandwidth, low = std::pow(10.0, x.low),
         high = std::pow(10.0, x.high);
  // From where the slope enters the picture.
  double from = std::max(low, std::pow(10.0, y.low) / roofline.bandwidth);
  if (from < ridge)
    line(x.at(from), y.at(from * roofline.bandwidth), x.at(ridge), y.at(roofline.peak), style);
  line(x.at(std::max(low, ridge)), y.at(roofline.peak), x.at(high), y.at(roofline.peak), style);
  std::string peak, slope;
  llvm::raw_string_ostream(peak) << llvm::format("%.0f TFLOP/s", roofline.peak * 1e-12);
  llvm::raw_string_ostream(slope) << llvm::format("memory %.1f TB/s", roofline.bandwidth * 1e-12);
  words(kRight - 4, y.at(roofline.peak) - 8, peak, "text-anchor=\"end\"");
  words(x.at(from) + 12, y.at(from * roofline.bandwidth), slope);
}

void Picture::drawPoints() {
  int number = 0;
  for (const Roofline::Point &point : roofline.points) {
    if (!(point.intensity > 0) || !(point.rate > 0))
      continue;
    double left = x.at(point.intensity), base = y.at(point.rate);
    os << llvm::format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" stroke=\"#c33\" fill=\"%s\"/>\n",
                       left, base, point.measured ? "#c33" : "none");
    std::string label;
    llvm::raw_string_ostream(label)
        << point.name << llvm::format(": %.4g TFLOP/s", point.rate * 1e-12);
    // A list, as points stand close to each other.
    double row = kBottom - 14 - 18.0 * number++;
    os << llvm::format("<circle cx=\"%d\" cy=\"%.1f\" r=\"4\" stroke=\"#c33\" fill=\"%s\"/>\n",
                       kRight - 250, row - 4, point.measured ? "#c33" : "none");
    words(kRight - 240, row, label);
  }
}

std::string Picture::draw() {
  os << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kWidth << "\" height=\"" << kHeight
     << "\" font-family=\"sans-serif\" font-size=\"13\">\n"
     << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  words(kLeft, 22, roofline.title, "font-size=\"15\"");
  drawAxes();
  drawRoof();
  drawPoints();
  os << "</svg>\n";
  return text;
}

std::string mlir::fa::drawRoofline(const Roofline &roofline) {
  double ridge = roofline.peak / roofline.bandwidth;
  double least = ridge / 10, most = ridge * 10, slowest = roofline.peak / 100;
  double fastest = roofline.peak;
  for (const Roofline::Point &point : roofline.points)
    if (point.intensity > 0 && point.rate > 0) {
      least = std::min(least, point.intensity);
      most = std::max(most, point.intensity);
      slowest = std::min(slowest, point.rate);
      fastest = std::max(fastest, point.rate);
    }
  return Picture(roofline, {least, most, kLeft, kRight}, {slowest, fastest, kBottom, kTop}).draw();
}
