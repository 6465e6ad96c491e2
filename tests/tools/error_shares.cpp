// error_shares DIRECTORY [HALF] [--missed]: what share of a folder of error messages gets the class that its sources
// were made for. The folder is laid out as tests/data/errors. Messages of other halves than HALF are not opened, so
// that they stay unseen while rules are written; what was missed is only shown when it is asked for.

#include <cstdio>
#include <exception>
#include <string>

#include "support/error_corpus.hpp"

int main(int argc, char** argv) {
  try {
    std::string directory, half;
    bool show_missed = false;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument == "--missed") {
        show_missed = true;
      } else {
        (directory.empty() ? directory : half) = argument;
      }
    }
    if (directory.empty()) {
      std::fputs("error_shares DIRECTORY [HALF] [--missed]\n", stderr);
      return 64;
    }
    const auto shares =
        kernelgen::testing::measure_error_corpus(kernelgen::testing::read_error_corpus(directory, half));
    std::fputs(shares.table.c_str(), stdout);
    if (show_missed) std::fputs(("\n" + shares.missed).c_str(), stdout);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error_shares: %s\n", error.what());
    return 69;
  }
}
