"""Teachers trained elsewhere, as torch.export or TorchScript files."""
