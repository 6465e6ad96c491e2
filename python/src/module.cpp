/// \file
/// The extension module kernelgen._core. The package kernelgen is written in Python around it.

#include "module.hpp"

#include <nanobind/stl/string.h>

#include <kernelgen/core/version.hpp>

NB_MODULE(_core, module) {
  // At the end of the interpreter, objects of modules that are still imported are not destroyed: no leak of ours.
  nanobind::set_leak_warnings(false);
  module.def("version", [] { return std::string(kernelgen::version()); });
  kernelgen_python::bind_judge(module);
  kernelgen_python::bind_models(module);
  kernelgen_python::bind_flow(module);
  kernelgen_python::bind_campaign(module);
  kernelgen_python::bind_profile(module);
  kernelgen_python::bind_compilers(module);
  kernelgen_python::bind_audit(module);
  kernelgen_python::bind_values(module);
}
