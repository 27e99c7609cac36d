// What the editors and the comparison begin with.

export const kSchema = `<schema name="harbour">
  <system>You answer from the pages.</system>
  <module name="visitor">The visitor is called <param name="name" len="6"/>.</module>
  <union>
    <module name="summer">The season is summer.</module>
    <module name="winter">The season is winter.</module>
  </union>
  <module name="ferry">The ferry leaves at ten. The ticket costs three euros.</module>
  <module name="tower">The tower has thirty floors. The lift is slow.</module>
</schema>
`;

export const kPrompt = `<prompt schema="harbour">
  <user><visitor name="Nora"/><summer/><ferry/><tower/>When does the ferry leave?</user>
</prompt>
`;

// Pages that are the same for every question, which is what reuse is for.
export const kSystem = `You are a city guide. You answer from the pages. The museum of Oslo opens at ten. \
The ticket costs nine euros. The harbour of Oslo lies in the south. The tower of Oslo has thirty floors. \
The ferry of Oslo leaves at noon. The market of Oslo closes at six. The library of Oslo has two cafes. \
The zoo of Oslo is closed on Monday.`;

export const kQuestion = "When does the museum of Oslo open?";
