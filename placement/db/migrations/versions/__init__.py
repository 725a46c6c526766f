"""One module per revision, in order. Their ids are a public interface: add none that the reference does not know."""
