#include "nn/module.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::nn {
namespace {

std::string join(const std::string& prefix, const std::string& name) {
  if (name.empty()) return prefix;
  return prefix.empty() ? name : prefix + "." + name;
}

}  // namespace

void Module::collect(const std::string& prefix, bool want_buffers,
                     std::vector<NamedTensor>& out) const {
  for (const NamedTensor& own : want_buffers ? buffers_ : parameters_) {
    out.push_back({join(prefix, own.name), own.tensor});
  }
  for (const auto& [name, module] : children_) {
    module->collect(join(prefix, name), want_buffers, out);
  }
}

std::vector<NamedTensor> Module::parameters() const {
  std::vector<NamedTensor> out;
  collect("", false, out);
  return out;
}

std::vector<NamedTensor> Module::buffers() const {
  std::vector<NamedTensor> out;
  collect("", true, out);
  return out;
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  for (const NamedTensor& named : parameters()) count += named.tensor.numel();
  return count;
}

std::string Module::own_name(const std::string& name, const HasName& in_file) const {
  std::string own = in_file ? translated_in_file(name, in_file) : translated(name);
  for (const auto& [child, module] : children_) {
    // Checked before any string is built: a name is compared with all blocks of a deep network.
    const bool below_child =
        child.empty() || (own.size() > child.size() && own[child.size()] == '.' &&
                          own.compare(0, child.size(), child) == 0);
    if (own.empty() || !below_child) continue;
    const std::string prefix = child.empty() ? "" : child + ".";
    HasName below;
    if (in_file) below = [&](const std::string& other) { return in_file(prefix + other); };
    const std::string rest = module->own_name(own.substr(prefix.size()), below);
    own = rest.empty() ? "" : prefix + rest;
  }
  return own;
}

bool Module::is_unused(const std::string& name) const {
  if (keeps_unused(name)) return true;
  for (const auto& [child, module] : children_) {
    const std::string prefix = child.empty() ? "" : child + ".";
    if (name.starts_with(prefix) && module->is_unused(name.substr(prefix.size()))) return true;
  }
  return false;
}

void Module::visit_from(const std::string& prefix, const Visitor& visitor) {
  visitor(prefix, *this);
  for (const auto& [name, module] : children_) module->visit_from(join(prefix, name), visitor);
}

void Module::add_types(const std::string& prefix, std::map<std::string, std::string>& to) const {
  to.emplace(prefix, type());
  for (const auto& [name, module] : children_) module->add_types(join(prefix, name), to);
}

std::map<std::string, std::string> Module::types() const {
  std::map<std::string, std::string> all;
  add_types("", all);
  return all;
}

void Module::train(bool on) {
  visit([on](const std::string&, Module& module) { module.training_ = on && !module.evaluates_; });
}

void Module::keep_evaluating() {
  evaluates_ = true;
  training_ = false;
}

void Module::freeze() {
  visit([](const std::string&, Module& module) {
    module.keep_evaluating();
    for (const NamedTensor& named : module.parameters_) named.tensor.set_requires_grad(false);
  });
}

void Module::freeze(const std::function<bool(const std::string& name)>& is_named) {
  freeze_from("", is_named);
}

// Whether nothing is left to train in this module and below.
bool Module::freeze_from(const std::string& prefix,
                         const std::function<bool(const std::string&)>& named) {
  bool any = !parameters_.empty(), all = true;
  for (const NamedTensor& own : parameters_) {
    if (named(join(prefix, own.name))) own.tensor.set_requires_grad(false);
    all = all && !own.tensor.requires_grad();
  }
  for (const auto& [name, module] : children_) {
    const std::int64_t count = module->parameter_count();
    any = any || count > 0;
    if (!module->freeze_from(join(prefix, name), named) && count > 0) all = false;
  }
  if (any && all) freeze();
  return any && all;
}

void Module::set_random(const RandomStream& random) {
  visit([&](const std::string& name, Module& module) {
    module.random_ = random.fork(name);
    module.calls_ = 0;
  });
}

RandomStream Module::next_random() {
  const std::uint64_t number = autograd::call_number(calls_);
  return number == 0 ? random_ : random_.fork("call").fork(number);
}

Tensor Module::parameter(const std::string& name, Tensor value) {
  value.set_requires_grad(true);
  parameters_.push_back({name, value});
  return value;
}

Tensor Module::buffer(const std::string& name, Tensor value) {
  buffers_.push_back({name, value});
  return value;
}

}  // namespace fovea::nn
