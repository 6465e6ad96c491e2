# Every public header. tests/structure/check_public_headers.py fails when a file of include/kernelgen is not listed here.
# The kernel ABI header (include/kernelgen/abi) is for candidates, not for users of the library; it is installed apart.
set(KERNELGEN_PUBLIC_HEADERS
  bench/benchmarker.hpp
  bench/doctor.hpp
  bench/fake_benchmarker.hpp
  bench/protocol.hpp
  bench/statistics.hpp
  bench/stopping.hpp
  bench/worker.hpp
  compile/kernel_compiler.hpp
  core/action.hpp
  core/candidate.hpp
  core/installation.hpp
  core/outcome.hpp
  core/prompt.hpp
  core/record.hpp
  core/result.hpp
  core/task.hpp
  core/version.hpp
  core/waiting.hpp
  detect/persistent_detector.hpp
  device/cpu.hpp
  exec/child.hpp
  exec/process.hpp
  flow/engine.hpp
  flow/policy.hpp
  flow/repair_loop.hpp
  judge/judge.hpp
  llm/clients.hpp
  llm/llm_client.hpp
  llm/scripted_client.hpp
  prompt/prompt_builder.hpp
  prompt/reply_reader.hpp
  store/event.hpp
  store/journal.hpp
  task/task_source.hpp)
list(TRANSFORM KERNELGEN_PUBLIC_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/kernelgen/)
