// What most sources with operators want of the headers. clang reads a name's declarations when it
// first meets the name, and a compiler that waits for its source meets these before. Nothing here is
// compiled: no function has a caller, and what sizeof looks at is not computed.

void kata_registers(torch::Library&);
static inline at::Tensor kata_unary(const at::Tensor&);
static inline std::tuple<at::Tensor, at::Tensor> kata_binary(const at::Tensor&, double);

static inline void kata_wants(const at::Tensor& x, double number, int64_t size) {
  static const torch::detail::TorchLibraryInit definitions(
      torch::Library::DEF, &kata_registers, "", std::nullopt, "", 0);
  static const torch::detail::TorchLibraryInit kernels(
      torch::Library::IMPL, &kata_registers, "", std::make_optional(c10::DispatchKey::CPU), "", 0);
  TORCH_CHECK(x.dim() == size, "", size, number);
  at::Tensor alike = at::empty_like(x);
  at::Tensor sized = at::empty({size}, x.options().dtype(at::kFloat));
  std::tuple<at::Tensor, at::Tensor> both(alike, sized);
  (void)sizeof(torch::CppFunction(kata_unary));
  (void)sizeof(torch::CppFunction(kata_binary));
  (void)sizeof(c10::detail::inferFunctionSchemaFromFunctor<at::Tensor (*)(const at::Tensor&)>());
}
