// Reads the record of an evaluation and computes statistics from the raw samples.
//
//   04_read_record RECORD.json

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>

#include <kernelgen/core/record.hpp>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: 04_read_record RECORD.json\n";
    return 64;
  }
  std::ifstream file(argv[1]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    std::cerr << "cannot read " << argv[1] << '\n';
    return 1;
  }
  const auto record = kernelgen::parse_record(text);
  if (!record) {
    std::cerr << record.error().to_line() << '\n';
    return 1;
  }
  std::cout << record->task_name << " for " << to_string(record->target) << ": " << record->outcome.to_class() << '\n';
  for (const auto& checked : record->cases)
    for (const auto& output : checked.outputs)
      std::cout << "  " << checked.distribution << " call " << checked.call << ' ' << output.output << ": "
                << output.max_error_ratio << " of the allowed error\n";
  if (record->timing && !record->timing->candidate_ns.empty()) {
    const auto& samples = record->timing->candidate_ns;
    const auto [fastest, slowest] = std::minmax_element(samples.begin(), samples.end());
    std::cout << "  " << samples.size() << " samples between " << *fastest << " and " << *slowest << " ns\n";
  }
  return 0;
}
