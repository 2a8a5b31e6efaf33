"""`ostraka simulate`."""

import secrets
import time
from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.cli import write_json
from ostraka.common.mechanism import LABELLING
from ostraka.common.planning import options
from ostraka.common.telemetry import progress
from ostraka.deploy.simulation.settings import load_settings

RUNS = Path("runs")
LISTED = ", ".join(LABELLING)


def simulate(
    config: Annotated[Path | None, typer.Option(help="TOML file with any of these options.")] = None,
    data: Annotated[str | None, typer.Option(help="digits, or an .npz, .csv or .parquet file.")] = None,
    label: Annotated[str | None, typer.Option(help="Label column of a table; several with commas.")] = None,
    task: Annotated[str | None, typer.Option(help="single or multilabel; default as the data are.")] = None,
    split: Annotated[
        str | None,
        typer.Option(help="Who holds which records: iid, label-sorted, dirichlet or column; default iid."),
    ] = None,
    similarity: Annotated[
        float | None, typer.Option(help="label-sorted: percentage of records shared out at random.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="dirichlet: small for parties that differ, large for parties alike.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="column: its name; a party gets a range of values.")] = None,
    parties: Annotated[int | None, typer.Option(help="Answering parties.")] = None,
    teachers: Annotated[int | None, typer.Option(help="Teachers of each party.")] = None,
    labelled: Annotated[int | None, typer.Option(help="Records the querying party has labels of.")] = None,
    queries: Annotated[int | None, typer.Option(help="Size of its unlabeled pool.")] = None,
    clusters: Annotated[
        int | None, typer.Option(help="noise_cluster, denoise-ssl: clusters of the pool.")
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option(help=f"{LISTED}; default confident, of several labels tau.")
    ] = None,
    sigma: options.Sigma = None,
    sigma1: options.Sigma1 = None,
    sigma2: options.Sigma2 = None,
    threshold: Annotated[
        float | None, typer.Option(help="Votes that the check asks for; default a share of the teachers.")
    ] = None,
    gamma: options.Gamma = None,
    tau: options.Radius = None,
    tau1: options.L1Radius = None,
    max_positives: options.MaxPositives = None,
    confidence: options.Confidence = None,
    adjacency: Annotated[
        str | None, typer.Option(help="What is charged: record (DP), or label (label-DP).")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Every party's budget.")] = None,
    delta: Annotated[float | None, typer.Option(help="Every party's delta.")] = None,
    enforce: Annotated[str | None, typer.Option(help="worst_case or data_dependent.")] = None,
    bound: Annotated[str | None, typer.Option(help="Of data-dependent costs; default exact.")] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            help="Queries plain, or encrypted: ckks, which all policies of the simulation then name: whoever"
            " may ask so is trusted with the models. Default plain."
        ),
    ] = None,
    tally: Annotated[str | None, typer.Option(help="aggregate or blind; default aggregate.")] = None,
    head: Annotated[
        str | None,
        typer.Option(help="Teachers that answer encrypted queries: linear, square-mlp or square-cnn."),
    ] = None,
    consent: Annotated[
        str | None, typer.Option(help="Shares of records by consent level: low=0.3,medium=0.5,high=0.2.")
    ] = None,
    levels: Annotated[
        str | None, typer.Option(help="Epsilon of each level: low=1,...; default parts of --epsilon.")
    ] = None,
    variant: Annotated[str | None, typer.Option(help="none, upsampling, vanishing or weighting.")] = None,
    on_exhaustion: Annotated[
        str | None, typer.Option(help="stop, or let units without budget vanish.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Teachers' model; default suits the data.")] = None,
    thresholds: Annotated[
        str | None,
        typer.Option(help="Teachers of several labels say yes from: none (one half), global or per_label."),
    ] = None,
    training: Annotated[
        str | None,
        typer.Option(
            help="How teachers learn: conventional, each alone; dp-ttac or ttac, all parties' together. "
            "Default conventional."
        ),
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="dp-ttac, ttac: rounds; default 20.")] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="dp-ttac, ttac: step size of teachers; default 0.2.")
    ] = None,
    training_sigma: Annotated[
        float | None, typer.Option(help="dp-ttac: noise of each parameter, in radii; default 10.")
    ] = None,
    student: Annotated[
        str | None,
        typer.Option(help="How the student learns: supervised, vat, mixmatch or fixmatch."),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Steps that the student learns for.")] = None,
    label_rounds: Annotated[
        int | None, typer.Option(help="Label, train, and ask what the student does not know, so often.")
    ] = None,
    dependencies: Annotated[
        bool | None, typer.Option("--dependencies", help="Skip labels that answers of others imply.")
    ] = None,
    queriers: Annotated[
        int | None, typer.Option(help="So many parties, the weakest first, ask all others in turn.")
    ] = None,
    label_dp: Annotated[
        str | None,
        typer.Option(
            help="Share features, keep labels secret: ldp-normal, ldp-ssl, denoise-ssl, aug-descent, "
            "noisecluster or pate-fm."
        ),
    ] = None,
    label_epsilon: Annotated[
        float | None, typer.Option(help="label-dp: epsilon (label-DP) of a randomised label; default 2.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Queries released together.")] = None,
    quorum: Annotated[int | None, typer.Option(help="Least parties; default a majority.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of data split and training, never of noise.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write; default runs/<time>.")] = None,
    json: Annotated[
        str | None, typer.Option("--json", help="Also write the report here; - is stdout.")
    ] = None,
) -> None:
    """Run a whole federation on this machine, every site a process of its own, and report on it."""
    given = {name: value for name, value in locals().items() if name not in ("config", "out", "json")}
    settings = load_settings(config, given)
    folder = out or RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"

    from ostraka.deploy.simulation import run
    from ostraka.deploy.simulation.display import ProgressSteps, show

    with progress() as display:
        shown = ProgressSteps(display)
        report = run.simulate(
            settings, folder, announce=shown.announce, on_progress=shown.labelled, on_step=shown.stepped
        )
    write_json(report.model_dump(mode="json"), json)
    if json != "-":
        show(report, folder / run.HTML_FILE)
