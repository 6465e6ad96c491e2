// error_shares DIRECTORY [HALF] [--missed] [--least PERCENT]: the share of a folder of error messages that gets the
// class its sources were made for. The folder is laid out as tests/data/errors. Messages of other halves than HALF are
// not opened, so that they stay unseen while rules are written; missed messages are only shown on request. Ends with 1
// when the share of a half is below PERCENT, or when there are no messages.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>

#include "support/error_corpus.hpp"

int main(int argc, char** argv) {
  try {
    std::string directory, half;
    bool show_missed = false;
    double least = 0;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument == "--missed") {
        show_missed = true;
      } else if (argument == "--least" && i + 1 < argc) {
        least = std::stod(argv[++i]);
      } else {
        (directory.empty() ? directory : half) = argument;
      }
    }
    if (directory.empty()) {
      std::fputs("error_shares DIRECTORY [HALF] [--missed] [--least PERCENT]\n", stderr);
      return 64;
    }
    const auto shares =
        kernelgen::testing::measure_error_corpus(kernelgen::testing::read_error_corpus(directory, half));
    std::fputs(shares.table.c_str(), stdout);
    if (show_missed) std::fputs(("\n" + shares.missed).c_str(), stdout);
    const bool reached = std::all_of(shares.percent.begin(), shares.percent.end(),
                                     [&](const auto& share) { return share.second >= least; });
    return reached && !shares.percent.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error_shares: %s\n", error.what());
    return 69;
  }
}
